import { isIP } from 'node:net';

/** Whether a host name or address (IPv6 with or without brackets) can only mean this machine (RFC 1122 §3.2.1.3, RFC 6761 §6.3). */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (isIP(bare) === 4) return bare.startsWith('127.');
  return bare === '::1' || /^::ffff:(?:127\.|7f[0-9a-f]{2}:)/.test(bare) || /(?:^|\.)localhost$/.test(bare);
}
