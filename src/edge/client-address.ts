import { BlockList, isIP } from 'node:net';

/** Tells a client's address, and the scheme it used, from the connection and what trusted proxies add. */
export interface ClientAddresses {
  /** `remote` is the socket's peer. X-Forwarded-For is read from the right, as far as its writers are trusted. */
  of(remote: string | undefined, forwardedFor: string | undefined): string;
  /** Whether a socket's peer is believed. */
  trusts(remote: string | undefined): boolean;
}

/** `trusted` holds addresses and CIDR blocks, v4 and v6. */
export function clientAddresses(trusted: readonly string[]): ClientAddresses {
  const list = new BlockList();
  for (const entry of trusted) {
    const [address = '', prefix] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  const isTrusted = (address: string) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  };
  return {
    trusts: (remote) => isTrusted(plain(remote ?? '')),
    of(remote, forwardedFor) {
      const peer = plain(remote ?? '');
      if (trusted.length === 0 || forwardedFor === undefined || !isTrusted(peer)) return peer;
      let client = peer;
      for (const entry of forwardedFor.split(',').reverse()) {
        const address = plain(entry.trim());
        if (isIP(address) === 0) break;
        client = address;
        if (!isTrusted(address)) break;
      }
      return client;
    },
  };
}

/** An IPv4 client of a dual-stack listener shows as `::ffff:192.0.2.1`: one client, one spelling. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
