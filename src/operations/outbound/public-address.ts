import ipaddr from 'ipaddr.js';
import { GLOBAL_UNICAST_V6, SPECIAL_USE_V4, SPECIAL_USE_V6, type SpecialUse } from './special-use.ts';

type Block<A> = { readonly range: [A, number]; readonly use: SpecialUse };

const V4: readonly Block<ipaddr.IPv4>[] = SPECIAL_USE_V4.map((use) => ({
  range: ipaddr.IPv4.parseCIDR(use.block),
  use,
}));
const V6: readonly Block<ipaddr.IPv6>[] = SPECIAL_USE_V6.map((use) => ({
  range: ipaddr.IPv6.parseCIDR(use.block),
  use,
}));
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR(GLOBAL_UNICAST_V6);

/**
 * Returns why an address is not public, or undefined if it is public. Only strict notations are accepted: four decimal
 * parts, or IPv6 without a zone.
 */
export function whyNotPublic(address: string): string | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return whyNotPublicV4(ipaddr.IPv4.parse(address));
  if (!address.includes(':') || address.includes('%') || !ipaddr.IPv6.isValid(address)) return 'not an address';
  const parsed = ipaddr.IPv6.parse(address);
  for (const { range, use } of V6) {
    if (!parsed.match(range)) continue;
    return use.unwrap === undefined
      ? use.name
      : whyNotPublicV4(new ipaddr.IPv4(parsed.toByteArray().slice(use.unwrap / 8, use.unwrap / 8 + 4)));
  }
  return parsed.match(GLOBAL_V6) ? undefined : 'not global unicast';
}

function whyNotPublicV4(address: ipaddr.IPv4): string | undefined {
  return V4.find(({ range }) => address.match(range))?.use.name;
}
