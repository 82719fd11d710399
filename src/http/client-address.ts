import ipaddr from 'ipaddr.js';
import { type AddressRange, isInRanges, parseAddressRange } from '../kernel/address-range.ts';
import { parseIp } from '../kernel/ip.ts';

/** Addresses and CIDR ranges that are trusted to report their client. Throws a TypeError on one that is neither. */
export function parseTrustedProxies(list: readonly string[]): AddressRange[] {
  return list.map((item) => {
    const range = parseAddressRange(item);
    if (!range) throw new TypeError(`trustedProxies: ${item} is neither an address nor a CIDR range`);
    return range;
  });
}

const MAX_REMEMBERED = 1000;
const remembered = new Map<string, string | null>();

/** Returns the canonical form of a socket's address. Cached, because few peers send many requests. */
function canonical(socket: string): string | null {
  let address = remembered.get(socket);
  if (address === undefined) {
    address = parse(socket)?.toString() ?? null;
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(socket, address);
  }
  return address;
}

/** Longest address with zone, brackets and port. */
const MAX_CHARS = 100;

function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (text.length > MAX_CHARS) return undefined;
  // `[::1]:443` and `1.2.3.4:443` carry a port, `fe80::1%eth0` a zone.
  const bare = text
    .trim()
    .replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/%.*$/, '');
  // Only full notations: ipaddr.js also accepts `1`, `0x7f.1` and `127.1`, which others read differently.
  const address = parseIp(bare);
  return address === undefined ? undefined : ipaddr.parse(address);
}

const MAX_HOPS = 20;

/** Yields the entries of a list from the right, so that the cost does not depend on the length of the header. */
function* fromRight(list: string): Iterable<string> {
  let end = list.length;
  for (let hop = 0; hop < MAX_HOPS && end >= 0; hop++) {
    const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1);
    yield list.slice(comma + 1, end);
    end = comma;
  }
}

/**
 * Returns the client's address: that of the socket, unless it is a trusted proxy; then the first entry of
 * X-Forwarded-For from the right that is not a trusted proxy. IPv4-mapped IPv6 becomes IPv4. If an entry is invalid,
 * the last valid one before it is used.
 */
export function clientAddress(
  socket: string | null,
  forwardedFor: string | null,
  trusted: readonly AddressRange[],
): string | null {
  if (socket === null) return null;
  if (trusted.length === 0 || !forwardedFor) return canonical(socket);
  let current = parse(socket);
  if (!current) return null;
  for (const hop of fromRight(forwardedFor)) {
    if (!isInRanges(current, trusted)) break;
    const next = parse(hop);
    if (!next) break;
    current = next;
  }
  return current.toString();
}

/**
 * Returns the key under which requests are counted: an IPv4 address, or the /64 of an IPv6 address, because one
 * subscriber has a whole /64. All unknown addresses share one key.
 */
export function addressGroup(address: string | null): string {
  if (address === null) return 'unknown';
  if (!address.includes(':')) return address;
  const parts = (ipaddr.parse(address) as ipaddr.IPv6).parts.slice(0, 4);
  return `${parts.map((part) => part.toString(16)).join(':')}::/64`;
}
