import ipaddr from 'ipaddr.js';

/**
 * Parses an IPv4 or IPv6 address in strict notation. Returns its canonical form (IPv4-mapped becomes IPv4), or
 * undefined.
 */
export function parseIp(text: string): string | undefined {
  if (
    ipaddr.IPv4.isValidFourPartDecimal(text) ||
    (text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text))
  )
    return ipaddr.process(text).toString();
  return undefined;
}
