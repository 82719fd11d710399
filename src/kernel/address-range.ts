import ipaddr from 'ipaddr.js';
import { parseIp } from './ip.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address and how many of its bits count. */
export type AddressRange = readonly [Address, number];

/** An address or CIDR range, strictly written; IPv4-mapped IPv6 is folded to IPv4. undefined: it is neither. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [address = '', bits, ...rest] = text.split('/');
  if (rest.length > 0 || parseIp(address) === undefined) return undefined;
  const parsed = ipaddr.parse(address);
  const whole = parsed.kind() === 'ipv4' ? 32 : 128;
  if (bits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  const length = bits === undefined ? whole : Number(bits);
  if (length > whole) return undefined;
  if (parsed.kind() === 'ipv6' && (parsed as ipaddr.IPv6).isIPv4MappedAddress())
    return length < 96 ? undefined : [(parsed as ipaddr.IPv6).toIPv4Address(), length - 96];
  return [parsed, length];
}

export const isInRanges = (address: Address, ranges: readonly AddressRange[]): boolean =>
  ranges.some(
    ([range, bits]) => range.kind() === address.kind() && (address as ipaddr.IPv4).match(range as ipaddr.IPv4, bits),
  );

/** The ranges of addresses that are on both lists, each as the narrower of the two that meet writes it. */
export function intersectRanges(a: readonly string[], b: readonly string[]): string[] {
  const read = (list: readonly string[]) =>
    list.map((text) => ({ text, range: parseAddressRange(text) as AddressRange }));
  const found = new Set<string>();
  const others = read(b);
  for (const one of read(a)) {
    for (const other of others) {
      if (covers(other.range, one.range)) found.add(one.text);
      else if (covers(one.range, other.range)) found.add(other.text);
    }
  }
  return [...found];
}

const covers = (wide: AddressRange, [narrow, bits]: AddressRange): boolean =>
  wide[1] <= bits && isInRanges(narrow, [wide]);
