/**
 * Address blocks that requests to client-supplied URLs must not reach: the IANA special-purpose registries (RFC 6890,
 * as updated by RFC 8190), multicast, and blocks that embed an IPv4 address. With `unwrap`, the IPv4 address at that
 * bit is checked instead, because the block leads to it.
 */
export interface SpecialUse {
  readonly block: string;
  readonly name: string;
  readonly source: string;
  readonly unwrap?: number;
}

// biome-ignore format: one entry per line
export const SPECIAL_USE_V4: readonly SpecialUse[] = [
  { block: '0.0.0.0/8', name: 'this network', source: 'RFC 791, section 3.2' },
  { block: '10.0.0.0/8', name: 'private use', source: 'RFC 1918' },
  { block: '100.64.0.0/10', name: 'shared address space (carrier-grade NAT)', source: 'RFC 6598' },
  { block: '127.0.0.0/8', name: 'loopback', source: 'RFC 1122, section 3.2.1.3' },
  { block: '168.63.129.16/32', name: 'platform service of a cloud, reachable from its machines', source: 'vendor' },
  { block: '169.254.0.0/16', name: 'link-local, cloud metadata', source: 'RFC 3927' },
  { block: '172.16.0.0/12', name: 'private use', source: 'RFC 1918' },
  { block: '192.0.0.0/24', name: 'IETF protocol assignments', source: 'RFC 6890, section 2.1' },
  { block: '192.0.2.0/24', name: 'documentation (TEST-NET-1)', source: 'RFC 5737' },
  { block: '192.31.196.0/24', name: 'AS112', source: 'RFC 7535' },
  { block: '192.52.193.0/24', name: 'AMT', source: 'RFC 7450' },
  { block: '192.88.99.0/24', name: 'deprecated 6to4 relay anycast', source: 'RFC 7526' },
  { block: '192.168.0.0/16', name: 'private use', source: 'RFC 1918' },
  { block: '192.175.48.0/24', name: 'AS112 direct delegation', source: 'RFC 7534' },
  { block: '198.18.0.0/15', name: 'benchmarking', source: 'RFC 2544' },
  { block: '198.51.100.0/24', name: 'documentation (TEST-NET-2)', source: 'RFC 5737' },
  { block: '203.0.113.0/24', name: 'documentation (TEST-NET-3)', source: 'RFC 5737' },
  { block: '224.0.0.0/4', name: 'multicast', source: 'RFC 5771' },
  { block: '240.0.0.0/4', name: 'reserved, limited broadcast', source: 'RFC 1112, section 4' },
];

// biome-ignore format: one entry per line
export const SPECIAL_USE_V6: readonly SpecialUse[] = [
  { block: '::/128', name: 'unspecified', source: 'RFC 4291' },
  { block: '::1/128', name: 'loopback', source: 'RFC 4291' },
  { block: '::/96', name: 'deprecated IPv4-compatible', source: 'RFC 4291, section 2.5.5.1' },
  { block: '::ffff:0:0/96', name: 'IPv4-mapped', source: 'RFC 4291, section 2.5.5.2', unwrap: 96 },
  { block: '::ffff:0:0:0/96', name: 'IPv4-translated', source: 'RFC 2765' },
  { block: '64:ff9b::/96', name: 'NAT64', source: 'RFC 6052', unwrap: 96 },
  { block: '64:ff9b:1::/48', name: 'local-use NAT64', source: 'RFC 8215' },
  { block: '100::/64', name: 'discard only', source: 'RFC 6666' },
  { block: '100:0:0:1::/64', name: 'dummy prefix', source: 'RFC 9780' },
  { block: '2001::/32', name: 'Teredo', source: 'RFC 4380' },
  { block: '2001:2::/48', name: 'benchmarking', source: 'RFC 5180' },
  { block: '2001:3::/32', name: 'AMT', source: 'RFC 7450' },
  { block: '2001:4:112::/48', name: 'AS112', source: 'RFC 7535' },
  { block: '2001:10::/28', name: 'deprecated ORCHID', source: 'RFC 4843' },
  { block: '2001:20::/28', name: 'ORCHIDv2', source: 'RFC 7343' },
  { block: '2001:30::/28', name: 'drone remote id', source: 'RFC 9374' },
  { block: '2001::/23', name: 'IETF protocol assignments', source: 'RFC 2928' },
  { block: '2001:db8::/32', name: 'documentation', source: 'RFC 3849' },
  { block: '2002::/16', name: '6to4', source: 'RFC 3056' },
  { block: '2620:4f:8000::/48', name: 'AS112 direct delegation', source: 'RFC 7534' },
  { block: '3fff::/20', name: 'documentation', source: 'RFC 9637' },
  { block: '5f00::/16', name: 'segment routing', source: 'RFC 9602' },
  { block: 'fc00::/7', name: 'unique local, cloud metadata', source: 'RFC 4193' },
  { block: 'fe80::/10', name: 'link-local', source: 'RFC 4291, section 2.5.6' },
  { block: 'fec0::/10', name: 'deprecated site-local', source: 'RFC 3879' },
  { block: 'ff00::/8', name: 'multicast', source: 'RFC 4291, section 2.7' },
];

/** The only part of the IPv6 space that is allocated for the public network (RFC 4291, section 2.4). */
export const GLOBAL_UNICAST_V6 = '2000::/3';
