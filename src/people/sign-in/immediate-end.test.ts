import { afterEach, describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { listen } from '../../http/node.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Sends POST /authorize over a socket, where the credential of a person is cached between calls. */
async function overSocket(t: TestService): Promise<(token: string, agentId: string) => Promise<number>> {
  const listening = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  closing.push(() => listening.stop());
  return async (token, agentId) => {
    const response = await fetch(`http://127.0.0.1:${listening.port}/authorize`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ agentId, action: 'read', resource: 'db:x' }),
    });
    await response.arrayBuffer();
    return response.status;
  };
}

interface Scene {
  t: TestService;
  admin: string;
  alice: { id: string; session: string; apiToken: { id: string; token: string } };
}

/**
 * The ways in which a credential ends, with the status of the next decision for each of the two kinds of credentials,
 * on both instances.
 */
const ends: [string, (scene: Scene) => Promise<{ status: number }>, { session: number; apiToken: number }][] = [
  [
    'signing out',
    ({ t, alice }) => t.call('POST', '/sign-out', { as: alice.session }),
    { session: 401, apiToken: 200 },
  ],
  [
    'revoking the API token',
    ({ t, alice }) => t.call('DELETE', `/api-tokens/${alice.apiToken.id}`, { as: alice.session }),
    { session: 200, apiToken: 401 },
  ],
  [
    'removing the role of administrator',
    ({ t, admin, alice }) => t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { role: 'user' } }),
    { session: 404, apiToken: 404 },
  ],
  [
    'suspending the user',
    ({ t, admin, alice }) => t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { status: 'suspended' } }),
    { session: 401, apiToken: 401 },
  ],
  [
    'deleting the user',
    ({ t, admin, alice }) => t.call('DELETE', `/users/${alice.id}`, { as: admin }),
    { session: 401, apiToken: 401 },
  ],
];

describe('the next decision over a socket reflects', () => {
  it.each(ends)('%s', async (_, end, wanted) => {
    const t = await createTestService();
    const ask = [await overSocket(t), await overSocket(await createTestService({ sameDatabaseAs: t }))];
    const admin = await t.admin();
    const agent = await t.agent(admin);
    const { token: session, user } = (
      await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password: 'correct horse battery' } })
    ).body;
    await t.call('PATCH', `/users/${user.id}`, { as: admin, body: { role: 'admin' } });
    const apiToken = (await t.call('POST', '/api-tokens', { as: session, body: { name: 'ci' } })).body;
    for (const one of ask)
      for (const token of [session, apiToken.token])
        for (const _again of [1, 2]) expect(await one(token, agent.id)).toBe(200);

    expect((await end({ t, admin: admin.token, alice: { id: user.id, session, apiToken } })).status).toBeLessThan(300);
    for (const one of ask)
      expect({ session: await one(session, agent.id), apiToken: await one(apiToken.token, agent.id) }).toEqual(wanted);
  });
});

describe('a session that only asks for decisions over a socket', () => {
  it('counts as used, and ends at its expiry', async () => {
    const t = await createTestService();
    const ask = await overSocket(t);
    const { token, user } = (
      await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password: 'correct horse battery' } })
    ).body;
    const agent = await t.agent({ ...user, token });
    const DAY = 86_400_000;
    for (let day = 0; day < 10; day++) {
      t.clock.advance(DAY);
      expect(await ask(token, agent.id)).toBe(200);
      await t.legate.platform.ledger.change(SYSTEM, async () => {});
    }
    t.clock.advance(7 * DAY - 1);
    const lastUse = t.clock.now() - 7 * DAY + 1;
    expect(
      (await t.legate.platform.database.read.selectFrom('sessions').select('last_used_at').executeTakeFirstOrThrow())
        .last_used_at,
    ).toBe(lastUse);
    t.clock.advance(1);
    expect(await ask(token, agent.id)).toBe(401);
  });
});
