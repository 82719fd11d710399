import ipaddr from 'ipaddr.js';

/** A strictly written IPv4 or IPv6 address in its canonical form (IPv4-mapped folded to IPv4), or undefined. */
export function parseIp(text: string): string | undefined {
  if (
    ipaddr.IPv4.isValidFourPartDecimal(text) ||
    (text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text))
  )
    return ipaddr.process(text).toString();
  return undefined;
}
