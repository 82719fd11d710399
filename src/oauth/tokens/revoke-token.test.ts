import { expect, it } from 'vitest';
import { claimsOf, form, refreshWith, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, type Json } from '../../../test/support/service.ts';

it('revoking an access token leaves one event, which names grant, agent and client but not the token', async () => {
  const t = await createTestService();
  const someone = await signUp(t);
  const [client, other] = [await register(t), await register(t)];
  const got = await tokens(t, someone, client, { scope: 'agents:read' });
  const { sub } = claimsOf(got.access_token);
  const left = async (): Promise<Json[]> =>
    (await t.call('GET', '/changes?type=grant.token_revoked', { as: someone })).body;
  for (const [token, by] of [
    [got.access_token, other],
    ['a.b.c', client],
  ])
    await form(t, '/oauth/revoke', { token, client_id: by.client_id });
  expect(await left()).toEqual([]);
  for (let i = 0; i < 2; i++) await form(t, '/oauth/revoke', { token: got.access_token, client_id: client.client_id });
  const [grant] = (await t.call('GET', '/oauth/grants', { as: someone })).body;
  expect(await left()).toMatchObject([
    {
      agentId: sub,
      userId: someone.id,
      actor: { clientId: client.client_id },
      data: { grantId: grant.id, clientId: client.client_id, agentId: sub },
      before: { scope: 'agents:read', resource: 'http://localhost:3000', expiresAt: expect.any(String) },
    },
  ]);
  expect(JSON.stringify(await left())).not.toContain(got.access_token.split('.')[2]);
  expect((await t.call('GET', '/changes?type=grant.token_revoked', { as: await signUp(t) })).body).toEqual([]);
  // The grant has ended, so there is nothing left to revoke.
  const next = (await refreshWith(t, client, got.refresh_token)).body;
  await t.call('DELETE', `/oauth/grants/${grant.id}`, { as: someone });
  await form(t, '/oauth/revoke', { token: next.access_token, client_id: client.client_id });
  expect(await left()).toHaveLength(1);
});
