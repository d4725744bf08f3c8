import { isIPv6 } from 'node:net';

/**
 * What counts as one client when attempts are counted: an IPv4 address, or the /64 of an IPv6 address, of which every
 * customer has at least one and may use any address (RFC 6177). An IPv4-mapped address is the IPv4 address.
 */
export function clientNetwork(address: string): string {
  const bare = address.split('%', 1)[0] ?? address;
  if (!isIPv6(bare)) return bare;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = bare.toLowerCase().split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    // A dotted IPv4 ending stands for two groups; which ones does not matter beyond the first four.
    const missing = 8 - groups.length - last.length - (tail.includes('.') ? 1 : 0);
    groups.push(...new Array<string>(missing).fill('0'), ...last);
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
