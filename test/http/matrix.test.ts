import { describe, expect, it } from 'vitest';
import { mountRoutes } from '../../src/http/app.ts';
import { newId } from '../../src/lib/ids.ts';
import { newSecret, secretHash } from '../../src/lib/secrets.ts';
import { modules } from '../../src/modules.ts';
import { createTestService, type TestService } from '../support/service.ts';
import { CALLERS, matrix, type Scene } from './matrix.cases.ts';

const everyOwnPower = ['agents', 'audit', 'authorize', 'delegations', 'events', 'webhooks', 'costs', 'budgets', 'approvals', 'dashboard'].map((name) => ({
  resource: `legate:${name}`,
  actions: ['read', 'write', 'check'],
}));

async function scene(t: TestService): Promise<Scene> {
  const owner = await t.user();
  const permissions = [
    { resource: 'db:*', actions: ['read'] },
    { resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } },
  ];
  return { t, owner, agent: await t.agent(owner, { permissions }), other: await t.agent(owner) };
}

type Send = (method: string, path: string, body: unknown) => Promise<{ status: number }>;

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
  const session = newSecret('sessionToken');
  await db
    .insertInto('sessions')
    .values({
      id: newId('session', now),
      user_id: owner.id,
      token_hash: secretHash(session),
      created_at: now,
      last_used_at: now,
      expires_at: now + 1e6,
      absolute_expires_at: now + 1e6,
      ip: null,
      user_agent: null,
    })
    .execute();
  const origin = new URL(t.legate.baseUrl).origin;
  return [
    by(undefined),
    by(`lgk_${'x'.repeat(49)}`),
    by(revoked.token),
    by(expired),
    by(stranger.token),
    by(owner.token),
    by(undefined, { cookie: `legate_session=${session}; ${t.legate.platform.config.service.name}_session=${session}`, origin }),
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
      const s = await scene(t);
      const send = (await callers(s, row.scope))[i] as Send;
      const { path, body } = await row.target(s);
      got.push((await send(endpoint.split(' ')[0] as string, path, body)).status);
    }
    expect(Object.fromEntries(CALLERS.map((c, i) => [c, got[i]]))).toEqual(Object.fromEntries(CALLERS.map((c, i) => [c, want[i]])));
  });
});
