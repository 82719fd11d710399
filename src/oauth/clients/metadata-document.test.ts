import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ask,
  authorizePath,
  claimsOf,
  code,
  exchange,
  form,
  opened,
  type Person,
  refreshWith,
  signUp,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { deleteStale } from './delete-client.ts';

/** A host on loopback that publishes client ID metadata documents. */
let host: Server;
let origin: string;
let answer: RequestListener;
let requestedPaths: string[];
beforeAll(async () => {
  host = createServer((req, res) => {
    requestedPaths.push(req.url ?? '');
    answer(req, res);
  });
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
});
afterAll(() => {
  host.closeAllConnections();
  return new Promise((resolve) => host.close(resolve));
});

let t: TestService;
let person: Person;
beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { mcp: { allowPrivateNetworks: true } } });
  person = await signUp(t);
});

const CALLBACK = 'https://app.example/callback';
let count = 0;
const publish = (
  body: string,
  status = 200,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): void => {
  answer = (_req, res) => void res.writeHead(status, headers).end(body);
};
/** A different id for each test, since documents are cached. */
const newClient = (more: Json = {}): Json => ({
  client_id: `${origin}/clients/${++count}`,
  client_name: 'Documented',
  redirect_uris: [CALLBACK],
  ...more,
});
const publishOf = (client: Json, more: Json = {}, headers: Record<string, string> = {}): void =>
  publish(JSON.stringify({ ...client, ...more }), 200, { 'content-type': 'application/json', ...headers });
const open = (client: Json, query: Record<string, string> = {}) =>
  opened(t, authorizePath(ask(client, query)), { as: person });
// Each test has its own minute, since fetches of one host in a minute are limited.
beforeEach(() => {
  requestedPaths = [];
  t.clock.advance(60_000);
});

describe('a client ID metadata document', () => {
  it('[CIMD 3 and 5] a document describes a client at authorize, token, refresh and revoke', async () => {
    const client = newClient();
    publishOf(client);
    const request = ask(client);
    const page = await opened(t, authorizePath(request), { as: person });
    expect(page.status, page.text).toBe(200);
    expect(page.text).toContain('Documented');
    expect(page.text).toContain(new URL(origin).host);
    expect(page.text).toContain('<strong>app.example</strong>');
    const got = await exchange(t, request, await code(t, person, request));
    expect(got.status, got.text).toBe(200);
    expect(claimsOf(got.body.access_token).client_id).toBe(client.client_id);
    const [grant] = (await t.call('GET', '/oauth/grants', { as: person })).body;
    expect(grant).toMatchObject({ clientId: client.client_id, clientName: 'Documented' });
    expect((await t.call('GET', `/oauth/grants/${grant.id}`, { as: person })).body).toEqual(grant);
    expect((await t.call('GET', '/account/apps', { as: person })).text).toContain('Documented');
    const next = await refreshWith(t, client, got.body.refresh_token);
    expect(next.status).toBe(200);
    expect(
      (await form(t, '/oauth/revoke', { token: next.body.refresh_token, client_id: client.client_id })).status,
    ).toBe(200);
    expect((await t.legate.mcp.validateToken(next.body.access_token)).valid).toBe(false);
    expect(requestedPaths).toHaveLength(1);
  });

  it('[MCP 2026-07-28 client registration] works for Claude Code: portless loopback URIs, a random port', async () => {
    const client = newClient({
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    });
    publishOf(client);
    const request = ask(client, { redirect_uri: 'http://localhost:54321/callback' });
    const value = await code(t, person, request);
    expect((await exchange(t, request, value)).status).toBe(200);
    expect(
      (await opened(t, authorizePath(ask(client, { redirect_uri: 'http://localhost:54321/callback' })), { as: person }))
        .status,
    ).toBe(200);
  });

  it.each<[string, (client: Json) => void]>([
    ['lies about its id', (c) => publishOf(c, { client_id: `${origin}/clients/other` })],
    ['has its id with a trailing slash', (c) => publishOf(c, { client_id: `${c.client_id}/` })],
    ['has no id', (c) => publishOf(c, { client_id: undefined })],
    ['contains a secret', (c) => publishOf(c, { client_secret: 'x' })],
    ['contains the expiry of a secret', (c) => publishOf(c, { client_secret_expires_at: 0 })],
    ['names client_secret_basic', (c) => publishOf(c, { token_endpoint_auth_method: 'client_secret_basic' })],
    ['names client_secret_post', (c) => publishOf(c, { token_endpoint_auth_method: 'client_secret_post' })],
    ['names a method that is not offered', (c) => publishOf(c, { token_endpoint_auth_method: 'private_key_jwt' })],
    ['has no redirect URI', (c) => publishOf(c, { redirect_uris: undefined })],
    ['has a redirect URI of javascript:', (c) => publishOf(c, { redirect_uris: ['javascript:alert(1)'] })],
    ['is 6 KB', (c) => publishOf(c, { padding: 'x'.repeat(6000) })],
    ['is an array', () => publish('[]')],
    ['is not JSON', () => publish('<html></html>')],
    ['does not exist', (c) => publish(JSON.stringify(c), 404)],
    ['is a 201', (c) => publish(JSON.stringify(c), 201)],
    [
      'redirects',
      (c) => {
        answer = (req, res) =>
          void (req.url?.endsWith('/there')
            ? res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(c))
            : res.writeHead(302, { location: `${c.client_id}/there` }).end());
      },
    ],
  ])('[CIMD 4 and 6] a document is refused if it %s, and fetched again the next time', async (_what, publishBad) => {
    const client = newClient();
    publishBad(client);
    const r = await open(client);
    expect([r.status, r.headers.has('location')], r.text).toEqual([400, false]);
    const token = await form(t, '/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: 'x',
      client_id: client.client_id,
    });
    expect([token.status, token.body.error]).toEqual([401, 'invalid_client']);
    expect(requestedPaths.some((path) => path.endsWith('/there'))).toBe(false);
    publishOf(client);
    expect((await open(client)).status).toBe(200);
  });

  it.each<[string, () => void]>([
    ['fails', () => publish('', 500)],
    ['answers that there are too many requests', () => publish('', 429)],
    [
      'breaks the connection midway',
      () => {
        answer = (_req, res) => void res.writeHead(200, { 'content-length': '100' }).write('{', () => res.destroy());
      },
    ],
  ])(
    'when its host %s, a cached document stays valid for one more day, so access does not end; others get 503',
    async (_what, fail) => {
      const [known, unknown] = [newClient(), newClient()];
      publishOf(known);
      expect((await open(known)).status).toBe(200);
      fail();
      const refresh = (client_id: string) =>
        form(t, '/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x', client_id });
      const r = await refresh(unknown.client_id);
      expect([r.status, r.body.error]).toEqual([503, 'temporarily_unavailable']);
      const page = await open(unknown);
      expect([page.status, page.headers.has('location')]).toEqual([400, false]);
      t.clock.advance(24 * 3600_000);
      expect((await refresh(known.client_id)).body.error).toBe('invalid_grant');
      t.clock.advance(24 * 3600_000);
      expect((await refresh(known.client_id)).body.error).toBe('temporarily_unavailable');
      publish('{}');
      expect((await refresh(known.client_id)).body.error).toBe('invalid_client');
    },
  );

  it('an administrator deletes a client that has no row, with all its grants', async () => {
    const client = newClient();
    publishOf(client);
    const request = ask(client);
    const got = (await exchange(t, request, await code(t, person, request))).body;
    const path = `/oauth/clients/${encodeURIComponent(client.client_id)}`;
    expect((await t.call('DELETE', path, { as: person })).status).toBe(403);
    const admin = await t.admin();
    expect((await t.call('DELETE', path, { as: admin })).status).toBe(204);
    expect((await t.legate.mcp.validateToken(got.access_token)).valid).toBe(false);
    expect((await open(client)).status).toBe(200);
    expect((await t.call('DELETE', path, { as: admin })).status).toBe(404);
    for (const id of [
      'https://nobody.example/x',
      'https://nobody.example/\u0000',
      `https://nobody.example/${'x'.repeat(2048)}`,
    ])
      expect((await t.call('DELETE', `/oauth/clients/${encodeURIComponent(id)}`, { as: admin })).status).toBe(404);
  });

  it('[CIMD 6] a fetch times out after a few seconds', async () => {
    answer = () => {};
    const client = newClient();
    const started = Date.now();
    expect((await open(client)).status).toBe(400);
    expect(Date.now() - started).toBeLessThan(6000);
  });

  it('[CIMD 4.4] a document is cached as long as its headers say, between a minute and a day', async () => {
    for (const [cacheControl, keptMs] of [
      ['no-store', 60_000],
      ['max-age=0', 60_000],
      ['max-age=600', 600_000],
      ['max-age=99999999', 86_400_000],
      ['', 60_000],
    ] as const) {
      const client = newClient();
      publishOf(client, {}, { 'cache-control': cacheControl });
      requestedPaths = [];
      await open(client);
      t.clock.advance(keptMs - 1);
      await open(client);
      expect(requestedPaths, cacheControl).toHaveLength(1);
      t.clock.advance(1);
      await open(client);
      expect(requestedPaths, cacheControl).toHaveLength(2);
    }
  });

  it('[CIMD 4.4] another instance, and one after a restart, uses the stored document within its lifetime', async () => {
    const client = newClient();
    publishOf(client, {}, { 'cache-control': 'max-age=600' });
    requestedPaths = [];
    await open(client);
    const config = { mcp: { allowPrivateNetworks: true } };
    const second = await createTestService({ sameDatabaseAs: t, config });
    const ask2 = async (): Promise<number> => (await opened(second, authorizePath(ask(client)), { as: person })).status;
    expect(await ask2()).toBe(200);
    t.clock.advance(599_999);
    expect([await ask2(), requestedPaths.length]).toEqual([200, 1]);
    t.clock.advance(1);
    expect([await ask2(), requestedPaths.length]).toEqual([200, 2]);
    // A document that one instance has fetched again is used by the other one too.
    await open(client);
    expect(requestedPaths).toHaveLength(2);
  });

  it('uses a stored document for one more day while its host fails, and no longer', async () => {
    const client = newClient();
    publishOf(client, {}, { 'cache-control': 'max-age=60' });
    await open(client);
    publish('', 503);
    t.clock.advance(3_600_000);
    const config = { mcp: { allowPrivateNetworks: true } };
    const second = await createTestService({ sameDatabaseAs: t, config });
    expect((await opened(second, authorizePath(ask(client)), { as: person })).status).toBe(200);
    const stored = () =>
      t.legate.platform.database.read
        .selectFrom('oauth_client_documents')
        .select('client_id')
        .where('client_id', '=', client.client_id)
        .execute();
    await deleteStale(t.legate.platform);
    expect(await stored()).toHaveLength(1);
    t.clock.advance(24 * 3_600_000);
    await deleteStale(t.legate.platform);
    expect(await stored()).toEqual([]);
  });

  it('is not used again after its host has withdrawn it, not even while its host is asked too often', async () => {
    const client = newClient();
    publishOf(client);
    expect((await open(client)).status).toBe(200);
    publish('', 404);
    t.clock.advance(60_000);
    const statuses = [];
    for (let i = 0; i < 32; i++) statuses.push((await open(client)).status);
    expect(new Set(statuses)).toEqual(new Set([400]));
  });

  it('[CIMD 4.4] a person is told to try again if the document cannot be read now', async () => {
    const client = newClient();
    publish('', 503);
    const show = () => t.call('GET', authorizePath(ask(client)), { as: person, headers: { accept: 'text/html' } });
    const page = await show();
    expect([page.status, page.text.includes('Try again in a few minutes')]).toEqual([400, true]);
    expect(page.text).not.toContain('made a mistake');
    publishOf(client, { client_secret: 'x' });
    expect((await show()).text).toContain('made a mistake');
  });

  it('does not use a stored document that it would refuse, and does not store one that it refuses', async () => {
    const client = newClient();
    publishOf(client, { client_secret: 'x' });
    expect((await open(client)).status).toBe(400);
    const { read, write } = t.legate.platform.database;
    const count = await read
      .selectFrom('oauth_client_documents')
      .select('client_id')
      .where('client_id', '=', client.client_id)
      .execute();
    expect(count).toEqual([]);
    const row = { client_id: client.client_id, document: '{"client_id":"other"}', valid_until: t.clock.now() + 60_000 };
    await write.insertInto('oauth_client_documents').values(row).execute();
    publishOf(client);
    expect((await open(client)).status).toBe(200);
  });

  it('[CIMD 6] concurrent requests fetch a document once', async () => {
    const client = newClient();
    publishOf(client);
    const all = await Promise.all(Array.from({ length: 20 }, () => open(client)));
    expect(all.map((r) => r.status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(requestedPaths).toHaveLength(1);
  });

  it('[CIMD 6] fetches from one host are limited', async () => {
    publish('', 404);
    await Promise.all(Array.from({ length: 60 }, () => open(newClient())));
    expect(requestedPaths.length).toBeLessThanOrEqual(30);
  });

  it.each([
    ['no path', () => origin.replace('http:', 'https:')],
    ['only a slash as path', () => `${origin}/`],
    ['a fragment', () => `${origin}/client#x`],
    ['a user', () => origin.replace('//', '//user@').concat('/client')],
    ['a dot segment', () => `${origin}/a/../client`],
    ['an encoded dot segment', () => `${origin}/a/%2e%2E/client`],
    ['a space', () => `${origin}/a b`],
    ['3,000 characters', () => `${origin}/${'x'.repeat(3000)}`],
    ['no host', () => 'https:///client'],
  ])('[CIMD 3] no document is fetched from an address with %s', async (_what, make) => {
    const client = newClient({ client_id: make() });
    publishOf(client);
    expect((await open(client)).status).toBe(400);
    expect(requestedPaths).toEqual([]);
  });
});

describe('without mcp.allowPrivateNetworks', () => {
  let own: TestService;
  beforeAll(async () => {
    own = await createTestService({ lasting: true });
  });

  it.each([
    () => `${origin}/client`,
    () => `${origin.replace('http:', 'https:')}/client`,
    () => 'https://localhost/client',
    () => 'https://127.0.0.1/client',
    () => 'https://2130706433/client',
    () => 'https://0x7f.1/client',
    () => 'https://[::1]/client',
    () => 'https://[::ffff:127.0.0.1]/client',
    () => 'https://[::ffff:a9fe:a9fe]/client',
    () => 'https://169.254.169.254/latest/meta-data',
    () => 'https://10.0.0.1/client',
    () => 'https://192.168.1.1/client',
    () => 'https://100.64.0.1/client',
    () => 'https://[fd00::1]/client',
    () => 'https://[fe80::1]/client',
    () => 'https://0.0.0.0/client',
  ])('[CIMD 6; MCP security SSRF] nothing is fetched from a special-use address (%#)', async (make) => {
    const client = newClient({ client_id: make() });
    publishOf(client);
    const r = await own.call('GET', authorizePath(ask(client)));
    expect([r.status, r.headers.has('location')]).toEqual([400, false]);
    expect(requestedPaths).toEqual([]);
  });
});

it('mcp.clientMetadataDocuments false: such clients are unknown, and the metadata do not announce them', async () => {
  const own = await createTestService({
    config: { mcp: { clientMetadataDocuments: false, allowPrivateNetworks: true } },
  });
  const client = newClient();
  publishOf(client);
  expect((await own.call('GET', authorizePath(ask(client)))).status).toBe(400);
  expect(
    (await own.call('GET', '/.well-known/oauth-authorization-server')).body.client_id_metadata_document_supported,
  ).toBe(false);
  expect(requestedPaths).toEqual([]);
});
