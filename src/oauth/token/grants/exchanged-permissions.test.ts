import { beforeAll, expect, it } from 'vitest';
import { claimsOf, form } from '../../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../../test/support/service.ts';
import { ACCESS_TOKEN_TYPE } from '../token-request.ts';

let t: TestService;
let alice: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  alice = await t.user();
});
/** Returns an agent with these permissions, and its access token with the default scopes. */
const subjectWith = async (permissions: Json[]) => {
  const agent = await t.agent(alice, { type: 'service', permissions });
  const credentials = { client_id: agent.id, client_secret: agent.token };
  const { access_token } = (await form(t, '/oauth/token', { grant_type: 'client_credentials', ...credentials })).body;
  return { agent, access_token: access_token as string };
};
const exchange = (subjectToken: string, actor: { token: string }) =>
  form(t, '/oauth/token', {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN_TYPE,
    actor_token: actor.token,
  });
const delegatedTo = async (agent: { id: string }) =>
  (await t.call('GET', `/delegations?toAgent=${agent.id}`, { as: alice })).body;

it('[RFC 8693 1.1] an exchange delegates what the scopes allow of what the subject holds, and no more', async () => {
  const { agent, access_token } = await subjectWith([
    { resource: 'mcp:github:*', actions: ['read', 'write'], constraints: { maxCallsPerHour: 2 } },
    { resource: 'mcp:github:list_issues', actions: ['read', 'execute'] },
    { resource: 'mcp:notes:search', actions: ['*'] },
    { resource: 'db:*', actions: ['read'] },
  ]);
  const actor = await t.agent(alice);
  const r = await exchange(access_token, actor);
  expect(r.status, r.text).toBe(200);
  expect(claimsOf(r.body.access_token)).toMatchObject({ sub: agent.id, act: { sub: actor.id } });
  expect(await delegatedTo(actor)).toMatchObject([
    {
      fromAgent: agent.id,
      permissions: [
        { resource: 'mcp:github:*', actions: ['read'] },
        { resource: 'mcp:github:list_issues', actions: ['execute'] },
        { resource: 'mcp:notes:search', actions: ['read', 'execute'] },
      ],
    },
  ]);
  const decided = async (action: string, resource: string) =>
    (await t.authorize(actor.token, { action, resource })).body.allowed;
  expect(await decided('execute', 'mcp:notes:search')).toBe(true);
  expect(await decided('write', 'mcp:github:x')).toBe(false);
  expect(await decided('read', 'db:x')).toBe(false);
  const capped = [await decided('read', 'mcp:github:x'), await decided('read', 'mcp:github:y')];
  expect([...capped, await decided('read', 'mcp:github:z')]).toEqual([true, true, false]);
});

it('[RFC 8693 4.1] an exchange of an exchange passes on nothing that the agent between holds itself', async () => {
  const { access_token } = await subjectWith([{ resource: 'mcp:github:*', actions: ['read'] }]);
  const b = await t.agent(alice, { permissions: [{ resource: 'mcp:private:*', actions: ['read'] }] });
  const c = await t.agent(alice);
  const first = await exchange(access_token, b);
  const second = await exchange(first.body.access_token, c);
  expect(second.status, second.text).toBe(200);
  expect(await delegatedTo(c)).toMatchObject([
    { fromAgent: b.id, depth: 2, permissions: [{ resource: 'mcp:github:*', actions: ['read'] }] },
  ]);
});

it('[RFC 8693 2.2.2] an exchange is 400 for a subject that holds nothing the scopes allow', async () => {
  const { access_token } = await subjectWith([{ resource: 'db:*', actions: ['read'] }]);
  const actor = await t.agent(alice);
  const r = await exchange(access_token, actor);
  expect([r.status, r.body.error], r.text).toEqual([400, 'invalid_request']);
});
