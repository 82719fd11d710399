import { describe, expect, it } from 'vitest';
import { mountRoutes } from '../../src/http/app.ts';
import { newId } from '../../src/lib/ids.ts';
import { newSecret, secretHash } from '../../src/lib/secrets.ts';
import { modules } from '../../src/modules.ts';
import { createTestService, type TestService } from '../support/service.ts';
import { CALLERS, matrix, newScene, type Scene } from './matrix.cases.ts';

const everyOwnPower = ['agents', 'audit', 'authorize', 'delegations', 'events', 'webhooks', 'costs', 'budgets', 'approvals', 'dashboard'].map((name) => ({
  resource: `legate:${name}`,
  actions: ['read', 'write', 'check'],
}));

type Send = (method: string, path: string, body: unknown) => Promise<{ status: number }>;

/** A session token that ends at `expiresAt`. */
async function session(t: TestService, userId: string, expiresAt: number): Promise<string> {
  const now = t.clock.now();
  const token = newSecret('sessionToken');
  await t.legate.platform.database.write
    .insertInto('sessions')
    .values({
      id: newId('session', now),
      user_id: userId,
      token_hash: secretHash(token),
      created_at: now - 1000,
      last_used_at: now - 1000,
      expires_at: expiresAt,
      absolute_expires_at: expiresAt,
      ip: null,
      user_agent: null,
    })
    .execute();
  return token;
}

/** How each caller of the table sends a request. */
async function callers(s: Scene, scope: string | undefined): Promise<Send[]> {
  const { t, owner, agent } = s;
  const by =
    (token: string | undefined, headers?: Record<string, string>): Send =>
    (method, path, body) =>
      t.call(method, path, { as: token, ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) });
  const stranger = await t.user();
  const revoked = await t.agent(owner);
  await t.call('DELETE', `/agents/${revoked.id}`, { as: owner });
  const db = t.legate.platform.database.write;
  const now = t.clock.now();
  const expired = newSecret('apiToken');
  await db
    .insertInto('api_tokens')
    .values({ id: newId('apiToken', now), user_id: owner.id, name: 'old', token_hash: secretHash(expired), scopes: null, created_at: now - 1000, expires_at: now })
    .execute();
  const open = await session(t, owner.id, now + 1e6);
  const origin = new URL(t.legate.baseUrl).origin;
  return [
    by(undefined),
    by(`lgk_${'x'.repeat(49)}`),
    by(undefined, { authorization: `Basic ${Buffer.from(`${owner.email}:${owner.token}`).toString('base64')}` }),
    by(revoked.token),
    by(expired),
    by(await session(t, owner.id, now)),
    by(stranger.token),
    by(owner.token),
    by(undefined, { cookie: `${t.legate.platform.config.service.name}_session=${open}`, origin }),
    by(await t.apiToken(owner.id, [scope ?? 'offline_access'])),
    by(await t.apiToken(owner.id, ['mcp:read'])),
    by(agent.token),
    by((await t.agent(owner)).token),
    by((await t.agent(owner, { permissions: everyOwnPower })).token),
    by((await t.agent(stranger)).token),
    by((await t.admin()).token),
  ];
}

describe('the permission matrix', () => {
  const endpoints = async (): Promise<string[]> => {
    const t = await createTestService();
    return mountRoutes(modules, t.legate.platform.config).map(({ route, path }) => `${route.method} ${path}`);
  };

  it('has a row for each endpoint, and no other', async () => {
    expect(Object.keys(matrix).sort()).toEqual((await endpoints()).sort());
  });

  it.each(Object.entries(matrix))('%s', async (endpoint, row) => {
    const want = row.want.trim().split(/\s+/).map(Number);
    expect(want).toHaveLength(CALLERS.length);
    const got: number[] = [];
    const t = await createTestService({ config: { agents: { maxPerOwner: 1000 } } });
    for (let i = 0; i < CALLERS.length; i++) {
      const s = await newScene(t);
      const send = (await callers(s, row.scope))[i] as Send;
      const { path, body } = await row.target(s);
      got.push((await send(endpoint.split(' ')[0] as string, path, body)).status);
    }
    expect(Object.fromEntries(CALLERS.map((c, i) => [c, got[i]]))).toEqual(Object.fromEntries(CALLERS.map((c, i) => [c, want[i]])));
  });
});
