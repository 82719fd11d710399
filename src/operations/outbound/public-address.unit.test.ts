import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { whyNotPublic } from './public-address.ts';
import { SPECIAL_USE_V4, SPECIAL_USE_V6 } from './special-use.ts';

const bytesOf = (block: string): { bytes: number[]; bits: number } => {
  const [address, bits] = ipaddr.parseCIDR(block);
  return { bytes: address.toByteArray(), bits };
};
const text = (bytes: number[]): string => ipaddr.fromByteArray(bytes).toString();

function edges(block: string): { first: string; last: string; outside: string[] } {
  const { bytes, bits } = bytesOf(block);
  const value = bytes.reduce((n, b) => n * 256n + BigInt(b), 0n);
  const size = 1n << BigInt(bytes.length * 8 - bits);
  const total = 1n << BigInt(bytes.length * 8);
  const back = (n: bigint): string =>
    text(bytes.map((_, i) => Number((n >> BigInt(8 * (bytes.length - 1 - i))) & 255n)));
  return {
    first: back(value),
    last: back(value + size - 1n),
    outside: [value - 1n, value + size].filter((n) => n >= 0n && n < total).map(back),
  };
}

const within = (address: string): string | undefined =>
  [...SPECIAL_USE_V4, ...SPECIAL_USE_V6].find(({ block }) => {
    const [range, bits] = ipaddr.parseCIDR(block);
    const parsed = ipaddr.parse(address);
    return parsed.kind() === range.kind() && (parsed as ipaddr.IPv4).match(range as ipaddr.IPv4, bits);
  })?.name;

describe('[RFC 6890 2.2] special-use addresses', () => {
  it.each(SPECIAL_USE_V4)(
    'IPv4 $block ($name): first and last address are refused; their neighbours depend on their own blocks',
    ({ block }) => {
      const { first, last, outside } = edges(block);
      expect([whyNotPublic(first), whyNotPublic(last)]).toEqual([within(first), within(last)]);
      expect(whyNotPublic(first)).toBeDefined();
      for (const neighbour of outside)
        expect([neighbour, whyNotPublic(neighbour)]).toEqual([neighbour, within(neighbour)]);
    },
  );

  it.each(SPECIAL_USE_V6.filter(({ unwrap }) => unwrap === undefined))(
    'IPv6 $block ($name): first and last address are refused; their neighbours depend on their own blocks',
    ({ block }) => {
      const { first, last, outside } = edges(block);
      expect([whyNotPublic(first), whyNotPublic(last)].every((why) => why !== undefined)).toBe(true);
      for (const neighbour of outside) {
        const global = ipaddr.IPv6.parse(neighbour).match(ipaddr.IPv6.parseCIDR('2000::/3'));
        expect([neighbour, whyNotPublic(neighbour) === undefined]).toEqual([
          neighbour,
          global && within(neighbour) === undefined,
        ]);
      }
    },
  );

  it.each(['::ffff:', '64:ff9b::'])('an IPv4 address embedded in %s is checked itself', (prefix) => {
    expect(whyNotPublic(`${prefix}127.0.0.1`)).toBe('loopback');
    expect(whyNotPublic(`${prefix}169.254.169.254`)).toBe('link-local, cloud metadata');
    expect(whyNotPublic(`${prefix}10.0.0.1`)).toBe('private use');
    expect(whyNotPublic(`${prefix}93.184.216.34`)).toBeUndefined();
  });

  it.each([
    '93.184.216.34',
    '1.1.1.1',
    '8.8.8.8',
    '172.15.255.255',
    '172.32.0.0',
    '2606:4700::1111',
    '2a00:1450:4001::200e',
  ])('%s is public', (address) => {
    expect(whyNotPublic(address)).toBeUndefined();
  });

  it.each([
    ['the unspecified address', '::'],
    ['an unassigned part of the IPv6 space', '4000::1'],
    ['the metadata service over IPv6', 'fd00:ec2::254'],
    ['a zone', 'fe80::1%eth0'],
    ['decimal', '2130706433'],
    ['hexadecimal', '0x7f.0.0.1'],
    ['octal', '0177.0.0.1'],
    ['short', '127.1'],
    ['a name', 'localhost'],
    ['nothing', ''],
    ['6to4 of loopback', '2002:7f00:1::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ])('refused: %s (%s)', (_what, address) => {
    expect(whyNotPublic(address)).toBeDefined();
  });

  it('the table contains every block that the IANA registries call not globally reachable', () => {
    const v4 =
      '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 ' +
      '192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4';
    const v6 =
      '::1/128 ::/128 ::ffff:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:2::/48 2001:db8::/32 ' +
      '3fff::/20 5f00::/16 fc00::/7 fe80::/10';
    const blocks = new Set([...SPECIAL_USE_V4, ...SPECIAL_USE_V6].map(({ block }) => block));
    expect([...v4.split(' '), ...v6.split(' ')].filter((block) => !blocks.has(block))).toEqual([]);
  });
});
