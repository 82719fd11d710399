import ipaddr from 'ipaddr.js';
import { parseIp } from './ip.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address and the number of leading bits that are compared. */
export type AddressRange = readonly [Address, number];

/**
 * Parses an address or CIDR range in strict notation. IPv4-mapped IPv6 becomes IPv4. Returns undefined for anything
 * else.
 */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [address = '', bits, ...rest] = text.split('/');
  if (rest.length > 0 || parseIp(address) === undefined) return undefined;
  const parsed = ipaddr.parse(address);
  const maxBits = parsed.kind() === 'ipv4' ? 32 : 128;
  if (bits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  const length = bits === undefined ? maxBits : Number(bits);
  if (length > maxBits) return undefined;
  if (parsed.kind() === 'ipv6' && (parsed as ipaddr.IPv6).isIPv4MappedAddress())
    return length < 96 ? undefined : [(parsed as ipaddr.IPv6).toIPv4Address(), length - 96];
  return [parsed, length];
}

export const isInRanges = (address: Address, ranges: readonly AddressRange[]): boolean =>
  ranges.some(
    ([range, bits]) => range.kind() === address.kind() && (address as ipaddr.IPv4).match(range as ipaddr.IPv4, bits),
  );

/**
 * Returns the intersection of two lists: of each overlapping pair of ranges the narrower one, in its original spelling.
 */
export function intersectRanges(a: readonly string[], b: readonly string[]): string[] {
  const parseAll = (list: readonly string[]) =>
    list.map((text) => ({ text, range: parseAddressRange(text) as AddressRange }));
  const common = new Set<string>();
  const others = parseAll(b);
  for (const one of parseAll(a)) {
    for (const other of others) {
      if (covers(other.range, one.range)) common.add(one.text);
      else if (covers(one.range, other.range)) common.add(other.text);
    }
  }
  return [...common];
}

const covers = (wide: AddressRange, [narrow, bits]: AddressRange): boolean =>
  wide[1] <= bits && isInRanges(narrow, [wide]);
