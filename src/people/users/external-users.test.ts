import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';

/** An application with its own sign-in. A header identifies the user. */
const embedded = () =>
  createTestService({
    authenticate: async (request) => {
      const name =
        request.headers.get('x-user') ?? /^Bearer app-(\w+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
      if (!name) return null;
      return { userId: `ext|${name}`, ...(name === 'root' ? { role: 'admin' as const } : {}) };
    },
  });
const as = (name: string, more: Record<string, string> = {}) => ({ headers: { 'x-user': name, ...more } });
const create = (t: TestService, name: string, owner = `ext|${name}`) =>
  t.call('POST', '/agents', { ...as(name), body: { ownerId: owner, name: 'a', type: 'service' } });

describe('a user of the embedding application', () => {
  it('owns agents, asks for decisions about them, and cannot see those of others', async () => {
    const t = await embedded();
    const hers = (await create(t, 'alice')).body;
    const his = (await create(t, 'bob')).body;
    expect((await t.call('GET', '/agents', as('alice'))).body.map((a: { id: string }) => a.id)).toEqual([hers.id]);
    const ask = (agentId: string) =>
      t.call('POST', '/authorize', { ...as('alice'), body: { agentId, action: 'read', resource: 'db:x' } });
    expect((await ask(hers.id)).status).toBe(200);
    expect((await ask(his.id)).status).toBe(404);
    expect((await t.call('GET', `/agents/${his.id}`, as('alice'))).status).toBe(404);
    expect((await create(t, 'alice', 'ext|bob')).status).toBe(403);
    expect((await t.call('GET', '/users', as('alice'))).status).toBe(403);
    expect((await t.call('GET', '/agents', { as: hers.token })).body).toHaveLength(1);
  });

  it('is an administrator if the application assigns the role', async () => {
    const t = await embedded();
    const hers = (await create(t, 'alice')).body;
    expect((await t.call('GET', `/agents/${hers.id}`, as('root'))).status).toBe(200);
    expect((await t.call('GET', '/users', as('root'))).body).toMatchObject([
      { id: 'ext|alice', email: null, role: 'user' },
    ]);
    expect((await t.call('DELETE', '/users/ext%7Calice', as('root'))).status).toBe(204);
    expect((await t.call('GET', `/agents/${hers.id}`, as('root'))).body.status).toBe('revoked');
  });

  it('gets a user record without credentials with the first call, and no session', async () => {
    const t = await embedded();
    const all = await Promise.all(Array.from({ length: 10 }, () => t.call('GET', '/auth/session', as('root'))));
    for (const r of all)
      expect(r.body).toEqual({
        session: null,
        user: expect.objectContaining({ id: 'ext|root', email: null, role: 'admin' }),
      });
    expect((await t.call('POST', '/sign-out', as('root'))).status).toBe(403);
  });

  it('can create API tokens, which do not keep a role granted for the call', async () => {
    const t = await embedded();
    const r = await t.call('POST', '/api-tokens', { ...as('root'), body: { name: 'ci' } });
    expect(r.status).toBe(201);
    expect((await t.call('GET', '/auth/session', { as: r.body.token })).body.user).toMatchObject({
      id: 'ext|root',
      role: 'user',
    });
    expect((await t.call('GET', '/users', { as: r.body.token })).status).toBe(403);
    expect((await t.call('GET', '/api-tokens', as('root'))).body).toHaveLength(1);
  });

  it('can authenticate with a Bearer token of the application', async () => {
    const t = await embedded();
    expect((await t.call('GET', '/auth/session', { as: 'app-alice' })).body.user.id).toBe('ext|alice');
    const r = await t.call('GET', '/agents', { as: 'app-' });
    expect(r.status).toBe(401);
    expect(r.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect((await t.call('GET', '/agents', { headers: { authorization: 'Basic YTpi' } })).status).toBe(401);
  });

  it('is not looked up if the request has a Legate credential, even an invalid one', async () => {
    const t = await embedded();
    const bob = await t.user();
    expect((await t.call('GET', '/auth/session', { as: bob, ...as('root') })).body.user.id).toBe(bob.id);
    await t.call('DELETE', `/users/${bob.id}`, as('root'));
    expect((await t.call('GET', '/auth/session', { as: bob, ...as('root') })).status).toBe(401);
    expect((await t.call('GET', '/auth/session', as('root', { cookie: `${t.database.name}_session=x` }))).status).toBe(
      401,
    );
  });

  it('401 without a user', async () => {
    const t = await embedded();
    expect((await t.call('GET', '/agents')).status).toBe(401);
  });

  it('refuses a change that a browser sent from a page of another site', async () => {
    const t = await embedded();
    const send = async (headers: Record<string, string>) =>
      (await t.call('POST', '/api-tokens', { ...as('alice', headers), body: { name: 'x' } })).status;
    expect(await send({})).toBe(201);
    expect(await send({ origin: 'http://localhost:3000' })).toBe(201);
    expect(await send({ origin: 'https://app.example', 'sec-fetch-site': 'same-origin' })).toBe(201);
    expect(await send({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await send({ origin: 'https://evil.example' })).toBe(403);
  });

  it.each([
    [{ userId: '' }],
    [{ userId: 'a\u0000' }],
    [{ userId: 'x'.repeat(129) }],
    [{ userId: 7 }],
    [{}],
    [{ userId: 'a', role: 'root' }],
  ])('%j from the application is 500, with a line in the log', async (answer) => {
    const errors: unknown[] = [];
    const log = {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (fields: { err?: unknown }) => errors.push(fields.err),
    };
    const t = await createTestService({ log, authenticate: () => answer as never });
    const r = await t.call('GET', '/agents');
    expect([r.status, r.body.error.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(String(errors[0])).toContain('authenticate gave a');
  });
});

it('an administrator of the application whose tenant there has changed manages users by SCIM', async () => {
  let tenantId: string | null = 'tenant-1';
  const t = await createTestService({ authenticate: () => ({ userId: 'root', role: 'admin', tenantId }) });
  expect((await t.call('GET', '/auth/session')).body.user.tenantId).toBe('tenant-1');
  tenantId = null;
  const headers = { 'content-type': 'application/scim+json' };
  const r = await t.call('POST', '/scim/v2/Users', { headers, raw: '{"userName":"ann@example.com"}' });
  expect([r.status, r.body.userName]).toEqual([201, 'ann@example.com']);
});
