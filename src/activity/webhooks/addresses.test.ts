import { Resolver } from 'node:dns/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import ipaddr from 'ipaddr.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { SPECIAL_USE_V4, SPECIAL_USE_V6 } from '../../operations/outbound/special-use.ts';

/** The addresses that names resolve to, one answer per look-up; the last answer is repeated. */
const names = { answers: [] as string[][], asked: [] as string[] };
let answer: string[] = [];
const doubles = [
  vi.spyOn(Resolver.prototype, 'resolve4').mockImplementation((async (name: string) => {
    names.asked.push(name);
    answer = (names.answers.length > 1 ? names.answers.shift() : names.answers[0]) ?? [];
    return answer.filter((address) => !address.includes(':'));
  }) as never),
  vi
    .spyOn(Resolver.prototype, 'resolve6')
    .mockImplementation((async () => answer.filter((address) => address.includes(':'))) as never),
];
afterAll(() => {
  for (const double of doubles) double.mockRestore();
});

let t: TestService;
let lax: TestService;
let owner: TestUser;
/** Receivers on one port of two loopback addresses, and the addresses that were reached. */
const receivers: Server[] = [];
let port: number;
let reached: string[] = [];

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  lax = await createTestService({ lasting: true, config: { webhooks: { allowPrivateNetworks: true } } });
  owner = await t.user();
  for (const address of ['127.0.0.1', '127.0.0.2']) {
    const server = createServer((_, res) => {
      reached.push(address);
      res.writeHead(204).end();
    });
    receivers.push(server);
    await new Promise<void>((resolve) => server.listen(port ?? 0, address, resolve));
    port = (server.address() as AddressInfo).port;
  }
});
afterAll(() => {
  for (const server of receivers) server.close();
});
beforeEach(() => {
  names.asked = [];
  reached = [];
});

const post = (url: string) => t.call('POST', '/webhooks', { as: owner, body: { url } });

/**
 * The first and last address of each block as the host of a URL, and IPv6 addresses that embed a private IPv4 address.
 */
const hosts = [...SPECIAL_USE_V4, ...SPECIAL_USE_V6].flatMap(({ block, name, unwrap }) => {
  const [first, bits] = ipaddr.parseCIDR(block);
  const last = first.toByteArray().map((byte, i) => byte | (0xff >> Math.min(8, Math.max(0, bits - 8 * i))));
  const bytes =
    unwrap === undefined
      ? [first.toByteArray(), last]
      : ['10.0.0.1', '127.0.0.1', '169.254.169.254'].map((v4) => [
          ...first.toByteArray().slice(0, 12),
          ...ipaddr.parse(v4).toByteArray(),
        ]);
  return bytes
    .map((each) => ipaddr.fromByteArray(each))
    .map((a) => [`${block} (${name})`, a.kind() === 'ipv6' ? `[${a.toNormalizedString()}]` : a.toString()] as const);
});

const forms: readonly (readonly [string, string])[] = [
  ['decimal', '2130706433'],
  ['hexadecimal', '0x7f000001'],
  ['hexadecimal parts', '0x7f.0x0.0x0.0x1'],
  ['octal', '0177.0.0.1'],
  ['octal with zeros', '00000177.0.0.01'],
  ['one part left out', '127.0.1'],
  ['two parts left out', '127.1'],
  ['nothing but zero', '0'],
  ['a trailing dot', '127.0.0.1.'],
  ['percent signs', '%31%32%37.0.0.1'],
  ['circled digits', '①②⑦.⓪.⓪.①'],
  ['full-width digits', '１２７.0.0.1'],
  ['ideographic full stops', '127。0。0。1'],
  ['mapped, in hexadecimal', '[::ffff:7f00:1]'],
  ['mapped, in decimal', '[::ffff:169.254.169.254]'],
  ['translated', '[::ffff:0:127.0.0.1]'],
  ['compatible', '[::127.0.0.1]'],
  ['NAT64', '[64:ff9b::10.0.0.1]'],
  ['local-use NAT64', '[64:ff9b:1::10.0.0.1]'],
  ['6to4', '[2002:7f00:1::1]'],
  ['Teredo', '[2001:0:4136:e378:8000:63bf:3fff:fdd2]'],
  ['metadata over IPv6', '[fd00:ec2::254]'],
  ['localhost', 'localhost'],
  ['localhost in capitals', 'LOCALHOST'],
  ['localhost with a trailing dot', 'localhost.'],
  ['below localhost', 'app.localhost'],
  ['a name of the local network', 'printer.local'],
  ['metadata by name', 'metadata.google.internal'],
  ['the same with a trailing dot', 'metadata.google.internal.'],
];

describe('400, with the field, for an address to which nothing could be delivered', () => {
  it.each([...hosts, ...forms])('%s: https://%s', async (_, host) => {
    const r = await post(`https://${host}/in`);
    expect([r.status, r.body.error.code, r.body.error.details.issues.map((i: Json) => i.path)]).toEqual([
      400,
      'VALIDATION_FAILED',
      ['url'],
    ]);
    expect(names.asked).toEqual([]);
  });

  it.each([
    ['http', 'http://hooks.example/in'],
    ['another scheme', 'ftp://hooks.example/in'],
    ['a file', 'file:///etc/passwd'],
    ['data', 'data:text/plain,x'],
    ['userinfo', 'https://user:password@hooks.example/in'],
    ['a user alone', 'https://user@hooks.example/in'],
    ['a public host as userinfo of a private one', 'https://hooks.example@127.0.0.1/in'],
    ['the same with a backslash', 'https://127.0.0.1\\@hooks.example/in'],
    ['a zone', 'https://[fe80::1%25eth0]/in'],
    ['a port out of range', 'https://hooks.example:99999/in'],
    ['no host', 'https://?in'],
    ['no scheme', '//hooks.example/in'],
    ['a relative one', '/in'],
    ['nothing', ''],
  ])('%s: %s', async (_, url) => {
    const r = await post(url);
    expect([r.status, r.body.error.details.issues.map((i: Json) => i.path)]).toEqual([400, ['url']]);
  });

  it('PATCH /webhooks/:id checks the address in the same way', async () => {
    const { id, url } = (await post('https://hooks.example/in')).body;
    for (const host of ['10.0.0.1', '[::ffff:7f00:1]', '0177.0.0.1', 'localhost.']) {
      const r = await t.call('PATCH', `/webhooks/${id}`, { as: owner, body: { url: `https://${host}/in` } });
      expect([r.status, r.body.error.details.issues]).toMatchObject([400, [{ path: 'url' }]]);
    }
    expect((await t.call('GET', `/webhooks/${id}`, { as: owner })).body.url).toBe(url);
  });
});

describe('a host name', () => {
  it('that resolves to any special-use address fails the attempt, without details or a connection', async () => {
    const { id } = (await post(`https://hooks.example:${port}/in`)).body;
    for (const [, host] of hosts) {
      const address = host.replace(/[[\]]/g, '');
      for (const answer of [[address], ['93.184.216.34', address]]) {
        names.answers = [answer];
        const r = await t.call('POST', `/webhooks/${id}/test`, { as: owner });
        expect([answer, r.body]).toMatchObject([
          answer,
          { status: 'dropped', lastStatus: null, lastError: 'address_refused' },
        ]);
      }
      await t.call('PATCH', `/webhooks/${id}`, { as: owner, body: { enabled: true } });
    }
    expect(reached).toEqual([]);
  });

  it('that does not resolve fails the attempt', async () => {
    const { id } = (await post('https://hooks.example/in')).body;
    names.answers = [[]];
    expect((await t.call('POST', `/webhooks/${id}/test`, { as: owner })).body).toMatchObject({
      status: 'dropped',
      lastError: 'name_not_resolved',
    });
  });

  it('that resolves differently later: the checked address is used, and the next attempt checks again', async () => {
    const user = await lax.user();
    const { id } = (
      await lax.call('POST', '/webhooks', { as: user, body: { url: `http://rebind.example:${port}/in` } })
    ).body;
    names.answers = [['127.0.0.1'], ['127.0.0.2']];
    expect((await lax.call('POST', `/webhooks/${id}/test`, { as: user })).body).toMatchObject({ status: 'delivered' });
    expect([reached, names.asked]).toEqual([['127.0.0.1'], ['rebind.example']]);
    expect((await lax.call('POST', `/webhooks/${id}/test`, { as: user })).body).toMatchObject({ status: 'delivered' });
    expect([reached, names.asked.length]).toEqual([['127.0.0.1', '127.0.0.2'], 2]);
  });

  it('with a private address accepted earlier is refused once private networks are not allowed', async () => {
    const user = await lax.user();
    const { id, url } = (
      await lax.call('POST', '/webhooks', { as: user, body: { url: `http://127.0.0.1:${port}/in` } })
    ).body;
    const strict = await createTestService({ sameDatabaseAs: lax });
    Object.assign(strict.legate.platform, { secrets: lax.legate.platform.secrets });
    expect((await strict.call('POST', `/webhooks/${id}/test`, { as: user })).body).toMatchObject({
      status: 'dropped',
      lastError: 'url_refused',
    });
    await strict.legate.platform.database.write
      .updateTable('webhooks')
      .set({ url: url.replace('http:', 'https:') })
      .where('id', '=', id)
      .execute();
    expect((await strict.call('POST', `/webhooks/${id}/test`, { as: user })).body).toMatchObject({
      status: 'dropped',
      lastError: 'address_refused',
    });
    expect(reached).toEqual([]);
  });
});
