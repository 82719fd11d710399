import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Addresses and CIDR ranges that are trusted to report their client. Throws on one that is neither. */
export function parseTrustedProxies(list: readonly string[]): Range[] {
  return list.map((item) => {
    const range = item.includes('/') ? ipaddr.parseCIDR(item) : ([ipaddr.process(item), ipaddr.process(item).kind() === 'ipv4' ? 32 : 128] as Range);
    return range as Range;
  });
}

const MAX_REMEMBERED = 1000;
const remembered = new Map<string, string | null>();

/** The canonical form of a socket's address. Few peers ask often, so their addresses are kept. */
function canonical(socket: string): string | null {
  let address = remembered.get(socket);
  if (address === undefined) {
    address = parse(socket)?.toString() ?? null;
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(socket, address);
  }
  return address;
}

function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // `[::1]:443` and `1.2.3.4:443` carry a port, `fe80::1%eth0` a zone.
  const bare = text
    .trim()
    .replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/%.*$/, '');
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined;
}

const within = (address: ipaddr.IPv4 | ipaddr.IPv6, ranges: readonly Range[]): boolean =>
  ranges.some(([range, bits]) => range.kind() === address.kind() && (address as ipaddr.IPv4).match(range as ipaddr.IPv4, bits));

/**
 * The client's address: the socket's, unless that is a trusted proxy; then X-Forwarded-For is walked from the right past
 * further trusted proxies. IPv4-mapped IPv6 is folded to IPv4. Garbage ends the walk at the last good address.
 */
export function clientAddress(socket: string | null, forwardedFor: string | null, trusted: readonly Range[]): string | null {
  if (socket === null) return null;
  if (trusted.length === 0 || !forwardedFor) return canonical(socket);
  let current = parse(socket);
  if (!current) return null;
  const hops = forwardedFor.split(',').slice(-20);
  while (hops.length > 0 && within(current, trusted)) {
    const next = parse(hops.pop() as string);
    if (!next) break;
    current = next;
  }
  return current.toString();
}
