import { expect, it } from 'vitest';
import { claimsOf, form, refreshWith, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, type Json } from '../../../test/support/service.ts';
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../token/token-request.ts';

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

it('[RFC 7009 2] revoking an exchanged token ends its grant and its delegation, and keeps the source', async () => {
  const t = await createTestService();
  const someone = await signUp(t);
  const client = await register(t);
  const source = await tokens(t, someone, client);
  const body = { ownerId: someone.id, name: 'actor', type: 'delegated' };
  const actor = (await t.call('POST', '/agents', { as: someone, body })).body;
  const isValid = async (token: string) => (await t.legate.mcp.validateToken(token)).valid;
  const mayRead = async () =>
    (await t.authorize(actor.token, { action: 'read', resource: 'mcp:notes:search' })).body.allowed;
  const got = (
    await form(t, '/oauth/token', {
      grant_type: TOKEN_EXCHANGE,
      subject_token: source['access_token'],
      subject_token_type: ACCESS_TOKEN_TYPE,
      actor_token: actor.token,
    })
  ).body;
  const [grant] = (await t.call('GET', '/oauth/grants', { as: someone })).body;
  const agentId = claimsOf(source['access_token']).sub;
  expect(grant).toMatchObject({ kind: 'token_exchange', agentId, actorId: actor.id });
  expect([await isValid(got.access_token), await mayRead()]).toEqual([true, true]);
  await form(t, '/oauth/revoke', { token: got.access_token, client_id: client['client_id'] });
  expect([await isValid(got.access_token), await mayRead()]).toEqual([false, false]);
  expect((await t.call('GET', `/delegations?toAgent=${actor.id}`, { as: someone })).body).toEqual([]);
  expect((await t.call('GET', `/oauth/grants/${grant.id}`, { as: someone })).status).toBe(404);
  expect((await t.call('GET', `/changes?subject=${grant.id}`, { as: someone })).body).toMatchObject([
    { type: 'grant.revoked', data: { reason: 'client-revoked' }, before: { actorId: actor.id } },
    { type: 'grant.created', after: { actorId: actor.id } },
  ]);
  expect(await isValid(source['access_token'])).toBe(true);
});
