import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { FormClient } from '../../../../../test/support/browser-like.ts';
import { listenerOf, loopbackServers } from '../../../../../test/support/loopback.ts';
import { createTestService, type TestService, type TestUser } from '../../../../../test/support/service.ts';
import { until } from '../../../../../test/support/until.ts';
import { gateway } from '../../index.ts';

const { listening, closeAll } = loopbackServers();

let t: TestService;
let base: string;
/** The tokens that the authorization server was asked to revoke. */
const revoked: (string | null)[] = [];
/** How the authorization server answers the revocation of a token. */
let revoke: (token: string | null) => Promise<Response>;

beforeAll(async () => {
  const foreign = await listening();
  base = foreign.base;
  foreign.handle(listenerOf(answer));
  const auth = { type: 'oauth' as const, clientId: 'us' };
  const servers = { foreign: { url: `${base}/mcp`, legate: { auth } } };
  t = await createTestService({ lasting: true, config: { gateway: { servers } } });
});
beforeEach(() => {
  revoked.length = 0;
});
afterAll(closeAll);

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const form = new URLSearchParams(request.method === 'POST' ? await request.text() : '');
  if (pathname === '/.well-known/oauth-authorization-server')
    return Response.json({
      issuer: base,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      revocation_endpoint: `${base}/revoke`,
      code_challenge_methods_supported: ['S256'],
    });
  if (pathname === '/token') {
    const code = form.get('code');
    return Response.json({ access_token: `access-${code}`, refresh_token: `refresh-${code}`, token_type: 'Bearer' });
  }
  if (pathname !== '/revoke') return new Response(null, { status: 404 });
  revoked.push(form.get('token'));
  return revoke(form.get('token'));
}

async function connected(code: string): Promise<TestUser> {
  const person = await t.user();
  const browser = new FormClient(t, { authorization: `Bearer ${person.token}` });
  const page = await browser.post('/gateway/foreign/connect', { action: 'connect' });
  const href = /class="button" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? page.text;
  const state = new URL(href).searchParams.get('state') as string;
  const done = await browser.get(`/gateway/callback?${new URLSearchParams({ code, state })}`);
  expect(done.headers.get('location')).toBe('/gateway/foreign/connect?done=connected');
  return person;
}

it('the access token is revoked although the answer for the refresh token is not valid', async () => {
  revoke = async (token) => new Response(token === 'refresh-one' ? 'x'.repeat(5_000_000) : null);
  const person = await connected('one');
  await t.call('DELETE', '/gateway/connections/foreign', { as: person });
  await t.legate.platform.background.idle();
  expect([...revoked].sort()).toEqual(['access-one', 'refresh-one']);
});

it('an authorization server that does not answer delays neither upkeep nor other revocations', async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  revoke = async () => {
    await released;
    return new Response(null);
  };
  const admin = await t.admin();
  for (const code of ['two', 'three']) await t.call('DELETE', `/users/${(await connected(code)).id}`, { as: admin });
  await gateway.upkeep?.(t.legate.platform);
  await until(() => revoked.length === 4);
  release();
  await t.legate.platform.background.idle();
  expect([...revoked].sort()).toEqual(['access-three', 'access-two', 'refresh-three', 'refresh-two']);
});
