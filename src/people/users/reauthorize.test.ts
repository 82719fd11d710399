import { describe, expect, it, vi } from 'vitest';
import { createTestService, type TestService, type TestUser } from '../../../test/support/service.ts';
import { untilPasses } from '../../../test/support/until.ts';
import { SYSTEM } from '../../access/actor.ts';

interface Scene {
  readonly t: TestService;
  readonly admin: TestUser;
  readonly other: TestUser;
  readonly tokenId: string;
  readonly inviteId: string;
}

const changes: [string, (scene: Scene) => { method: string; path: string; body?: object }][] = [
  ['PATCH /users/:id', ({ other }) => ({ method: 'PATCH', path: `/users/${other.id}`, body: { role: 'admin' } })],
  ['DELETE /users/:id', ({ other }) => ({ method: 'DELETE', path: `/users/${other.id}` })],
  ['POST /invites', () => ({ method: 'POST', path: '/invites', body: { email: 'new@example.com', role: 'admin' } })],
  ['DELETE /invites/:id', ({ inviteId }) => ({ method: 'DELETE', path: `/invites/${inviteId}` })],
  ['POST /tenants', () => ({ method: 'POST', path: '/tenants', body: { name: 'Acme' } })],
  ['POST /api-tokens', () => ({ method: 'POST', path: '/api-tokens', body: { name: 'more' } })],
  ['DELETE /api-tokens/:id', ({ tokenId }) => ({ method: 'DELETE', path: `/api-tokens/${tokenId}` })],
];

const stored = async ({ t }: Scene): Promise<string> => {
  const { background, database } = t.legate.platform;
  const { read } = database;
  // The use of a token is stored after its request.
  await background.idle();
  const tables = ['users', 'invites', 'tenants', 'api_tokens'] as const;
  return JSON.stringify(await Promise.all(tables.map((table) => read.selectFrom(table).selectAll().execute())));
};

async function scene(): Promise<Scene> {
  const t = await createTestService({ config: { users: { signUp: 'invite' } } });
  await t.admin();
  const [admin, other] = [await t.admin(), await t.user()];
  const invited = await t.call('POST', '/invites', { as: admin, body: { email: 'invited@example.com' } });
  const [token] = (await t.call('GET', '/api-tokens', { as: other })).body;
  return { t, admin, other, tokenId: token.id, inviteId: invited.body.id };
}

describe('a right that ends while a request waits', () => {
  it.each(changes)('%s prevents the change', async (_, request) => {
    const s = await scene();
    const { t, admin } = s;
    const { ledger } = t.legate.platform;
    const { read } = t.legate.platform.database;
    let answer: ReturnType<TestService['call']> | undefined;
    // The request is authenticated while its credential is still valid, and waits while this change ends the
    // credential.
    await ledger.change(SYSTEM, async (change) => {
      const waiting = vi.spyOn(ledger, 'change');
      const { method, path, body } = request(s);
      answer = t.call(method, path, { as: admin, ...(body ? { body } : {}) });
      await untilPasses(() => expect(waiting).toHaveBeenCalled());
      await change.db.deleteFrom('api_tokens').where('user_id', '=', admin.id).execute();
      change.invalidate();
    });
    const before = await stored(s);
    expect((await answer)?.status).toBe(401);
    expect(await stored(s)).toBe(before);
    expect(await read.selectFrom('users').select('id').execute()).toHaveLength(3);
  });
});
