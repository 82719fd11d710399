import { describe, expect, it } from 'vitest';
import { cpuTimer } from '../../test/support/cpu.ts';
import { addressGroup, clientAddress, parseTrustedProxies } from './client-address.ts';

const PROXIES = ['10.0.0.0/8', '2001:db8:ffff::/48', '127.0.0.1'];

/** Address of the socket, X-Forwarded-For, and the resulting client address. */
const cases: [string, string | null, string | null, string | null][] = [
  ['no header', '10.0.0.1', null, '10.0.0.1'],
  ['an empty header', '10.0.0.1', '', '10.0.0.1'],
  ['headers of a peer that is not a proxy are ignored', '192.0.2.1', '203.0.113.7', '192.0.2.1'],
  ['a proxy is believed', '10.0.0.1', '203.0.113.7', '203.0.113.7'],
  [
    'what the client wrote itself is to the left, and is not believed',
    '10.0.0.1',
    '1.2.3.4, 203.0.113.7',
    '203.0.113.7',
  ],
  ['proxies are passed, from the right', '10.0.0.1', '1.2.3.4, 203.0.113.7, 10.9.9.9 ,10.0.0.2', '203.0.113.7'],
  ['only proxies: the first of them', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['garbage: the last good address', '10.0.0.1', '203.0.113.7, what is this', '10.0.0.1'],
  ['garbage before the address of a proxy', '10.0.0.1', 'unknown, 10.0.0.2', '10.0.0.2'],
  ['empty entries', '10.0.0.1', ',,,', '10.0.0.1'],
  ['an obfuscated identifier', '10.0.0.1', '_hidden', '10.0.0.1'],
  ['a port', '10.0.0.1', '203.0.113.7:51234', '203.0.113.7'],
  ['brackets and a port', '10.0.0.1', '[2001:db8::7]:51234', '2001:db8::7'],
  ['brackets', '10.0.0.1', '[2001:db8::7]', '2001:db8::7'],
  ['a zone', '10.0.0.1', 'fe80::1%eth0', 'fe80::1'],
  ['IPv4-mapped', '10.0.0.1', '::ffff:203.0.113.7', '203.0.113.7'],
  ['IPv4-mapped, in hexadecimal', '10.0.0.1', '::ffff:cb00:7107', '203.0.113.7'],
  ['a proxy that is IPv4-mapped at the socket', '::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['a proxy by IPv6', '2001:db8:ffff::1', '2001:DB8::7', '2001:db8::7'],
  ['a shortened IPv4 address is not an address', '10.0.0.1', '127.1', '10.0.0.1'],
  ['nor is a number', '10.0.0.1', '2130706433', '10.0.0.1'],
  ['nor hexadecimal', '10.0.0.1', '0x7f000001', '10.0.0.1'],
  ['nor octal', '10.0.0.1', '0177.0.0.1', '10.0.0.1'],
  ['nor one out of range', '10.0.0.1', '256.1.1.1', '10.0.0.1'],
  ['quotes', '10.0.0.1', '"203.0.113.7"', '10.0.0.1'],
  ['an entry of 140 KB', '10.0.0.1', '1'.repeat(140_000), '10.0.0.1'],
  [
    '100 entries: those at the left are far away',
    '10.0.0.1',
    `${Array.from({ length: 99 }, (_, i) => `1.1.1.${i}`).join(', ')}, 203.0.113.7`,
    '203.0.113.7',
  ],
  [
    '100 proxies: as far as is looked',
    '10.0.0.1',
    Array.from({ length: 100 }, (_, i) => `10.0.1.${i}`).join(','),
    '10.0.1.80',
  ],
  ['no socket', null, '203.0.113.7', null],
  ['a socket without an address', 'pipe', '203.0.113.7', null],
];

describe('the client address', () => {
  const trusted = parseTrustedProxies(PROXIES);
  it.each(cases)('%s', (_, socket, forwarded, wanted) => {
    expect(clientAddress(socket, forwarded, trusted)).toBe(wanted);
  });

  it('without trusted proxies is the address of the socket, regardless of the header', () => {
    for (const [, socket, forwarded] of cases)
      expect(clientAddress(socket, forwarded, [])).toBe(clientAddress(socket, null, trusted));
  });

  it('takes little time for a header of any length', () => {
    const cpu = cpuTimer();
    for (let i = 0; i < 200; i++) clientAddress('10.0.0.1', '10.0.0.2,'.repeat(20_000), trusted);
    expect(cpu()).toBeLessThan(1000);
  });

  it('refuses a proxy that is neither an address nor a range', () => {
    expect(() => parseTrustedProxies(['anything'])).toThrow();
    expect(() => parseTrustedProxies(['10.0.0.0/33'])).toThrow();
  });
});

describe('the key by which a client is counted', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    [null, 'unknown'],
  ])('%s: %s', (address, group) => {
    expect(addressGroup(address)).toBe(group);
  });
});
