import { expect, it } from 'vitest';
import { ask, code, exchange, form, register, signUp } from '../../../test/support/oauth.ts';
import { createTestService } from '../../../test/support/service.ts';

it('agents registered with an exchanged token end when the owner of its actor is suspended', async () => {
  const t = await createTestService();
  const tenantId = await t.tenant();
  const [admin, alice, bob] = [await t.admin(), await signUp(t), await t.user({ tenantId })];
  await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { tenantId } });
  const scope = 'mcp:read agents:write';
  const asked = ask(await register(t), { scope });
  const token = (await exchange(t, asked, await code(t, alice, asked))).body.access_token;
  const exchanged = await form(t, '/oauth/token', {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    actor_token: (await t.agent(bob)).token,
    scope,
  });
  expect(exchanged.status, exchanged.text).toBe(200);
  const createAs = async (as: string): Promise<string> => {
    const body = { ownerId: alice.id, name: 'n', type: 'service', permissions: [] };
    const r = await t.call('POST', '/agents', { as, body });
    expect(r.status, r.text).toBe(201);
    return r.body.id;
  };
  const [direct, byActor] = [await createAs(token), await createAs(exchanged.body.access_token)];
  const statuses = () => Promise.all([direct, byActor].map(async (id) => (await t.legate.agents.get(id)).status));
  const suspend = (person: { id: string }) =>
    t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status: 'suspended' } });
  expect((await suspend(bob)).status).toBe(200);
  expect(await statuses()).toEqual(['active', 'revoked']);
  // The agents of a suspended owner keep their state.
  expect((await suspend(alice)).status).toBe(200);
  expect(await statuses()).toEqual(['active', 'revoked']);
});
