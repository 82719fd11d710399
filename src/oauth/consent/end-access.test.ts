import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import { eventsOf } from '../../../test/support/events.ts';
import {
  ask,
  authorizePath,
  claimsOf,
  code,
  consent,
  consentPath,
  consentTokenOf,
  exchange,
  form,
  locationOf,
  opened,
  type Person,
  register,
  signUp,
  tokens,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

const NOTES = 'https://notes.example/mcp';

let t: TestService;
let admin: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
  await t.call('POST', '/mcp/servers', { as: admin, body: { name: 'notes', endpoint: NOTES } });
});

const grantsOf = async (as: Person): Promise<Json[]> => (await t.call('GET', '/oauth/grants', { as })).body;
const statusOf = async (as: Person, agent: string) => (await t.call('GET', `/agents/${agent}`, { as })).body.status;
const isValid = async (got: Json): Promise<boolean> => (await t.legate.mcp.validateToken(got['access_token'])).valid;
const subOf = (got: Json): string => claimsOf(got['access_token']).sub;
const isAsked = async (as: Person, of: Json, query: Record<string, string> = {}): Promise<boolean> =>
  (await opened(t, authorizePath(ask(of, query)), { as })).status === 200;
const chosen = async (as: Person, of: Json, agent: string): Promise<Json> => {
  const request = ask(of, { prompt: 'consent' });
  const r = await consent(t, as, request, { agent });
  return (await exchange(t, request, locationOf(r).searchParams.get('code') ?? '')).body;
};
const makeAgent = async (owner: Person): Promise<string> =>
  (await t.call('POST', '/agents', { as: owner, body: { ownerId: owner.id, name: 'mine', type: 'delegated' } })).body
    .id;

describe('ending access', () => {
  const ways: [string, (someone: Person, app: Json, grant: string) => Promise<unknown>][] = [
    ['DELETE /oauth/grants/:id', (someone, _app, id) => t.call('DELETE', `/oauth/grants/${id}`, { as: someone })],
    [
      'DELETE /oauth/clients/:id',
      (_someone, app) => t.call('DELETE', `/oauth/clients/${app.client_id}`, { as: admin }),
    ],
    [
      'the page of connected applications',
      (someone, _app, grant) => {
        const browser = new FormClient(t);
        browser.cookies.set(`${t.database.name}_session`, someone.token);
        return browser.post('/account/apps', { grant });
      },
    ],
  ];

  it.each(ways)('%s revokes the agent that the consent created, in the same change', async (_way, end) => {
    const someone = await signUp(t);
    const app = await register(t);
    const got = await tokens(t, someone, app);
    await end(someone, app, (await grantsOf(someone))[0]?.['id']);
    expect(await isValid(got)).toBe(false);
    expect(await statusOf(someone, subOf(got))).toBe('revoked');
    const [grant, agent] = (await eventsOf(t, subOf(got))).slice(3);
    expect([grant?.type, agent?.type]).toEqual(['grant.revoked', 'agent.revoked']);
    expect(agent?.data['reason']).toBe(grant?.data['reason']);
  });

  it.each(ways)('%s keeps an agent that the person chose', async (_way, end) => {
    const someone = await signUp(t);
    const app = await register(t);
    const mine = await makeAgent(someone);
    const got = await chosen(someone, app, mine);
    expect(subOf(got)).toBe(mine);
    await end(someone, app, (await grantsOf(someone))[0]?.['id']);
    expect(await isValid(got)).toBe(false);
    expect(await statusOf(someone, mine)).toBe('active');
  });

  it('ignores metadata of an agent about its creator', async () => {
    const someone = await signUp(t);
    const app = await register(t);
    const mine = await makeAgent(someone);
    await t.call('PATCH', `/agents/${mine}`, { as: someone, body: { metadata: { oauthClientId: app.client_id } } });
    await chosen(someone, app, mine);
    await t.call('DELETE', `/oauth/grants/${(await grantsOf(someone))[0]?.['id']}`, { as: someone });
    expect(await statusOf(someone, mine)).toBe('active');
  });

  it('keeps the agent of another person whose code has not been exchanged yet', async () => {
    const [someone, other] = [await signUp(t), await signUp(t)];
    const app = await register(t);
    const request = ask(app);
    const pending = await code(t, other, request);
    await tokens(t, someone, app);
    await t.call('DELETE', `/oauth/grants/${(await grantsOf(someone))[0]?.['id']}`, { as: someone });
    expect((await exchange(t, request, pending)).status).toBe(200);
  });

  it('by deleting a client leaves no agent of a consent that is given meanwhile', async () => {
    const someone = await signUp(t);
    const headers = { authorization: `Bearer ${someone.token}` };
    for (let i = 0; i < 12; i++) {
      const app = await register(t);
      const request = ask(app);
      const page = await opened(t, authorizePath(request), { headers });
      const fields = { decision: 'allow', agent: 'new', 'scope:mcp:read': 'on', consentToken: consentTokenOf(page) };
      const [answer] = await Promise.all([
        form(t, consentPath(request), fields, headers),
        t.call('DELETE', `/oauth/clients/${app.client_id}`, { as: admin }),
      ]);
      expect([303, 400]).toContain(answer.status);
    }
    const agents: Json[] = (await t.call('GET', '/agents', { as: someone })).body;
    expect(agents.filter(({ status }) => status === 'active')).toEqual([]);
  });

  it('keeps the agent while another application acts as it', async () => {
    const someone = await signUp(t);
    const [first, second] = [await register(t), await register(t)];
    const got = await tokens(t, someone, first);
    const other = await chosen(someone, second, subOf(got));
    const [grant] = (await grantsOf(someone)).filter((g) => g['clientId'] === first.client_id);
    await t.call('DELETE', `/oauth/grants/${grant?.['id']}`, { as: someone });
    expect([await isValid(got), await isValid(other)]).toEqual([false, true]);
    await t.call('DELETE', `/oauth/clients/${first.client_id}`, { as: admin });
    expect(await isValid(other)).toBe(true);
    await t.call('DELETE', `/oauth/grants/${(await grantsOf(someone))[0]?.['id']}`, { as: someone });
    expect(await statusOf(someone, subOf(got))).toBe('active');
  });
});

describe('two grants of one person and client', () => {
  it('for two resources: ending one requires a new consent, and keeps the other with agent and consent', async () => {
    const someone = await signUp(t);
    const app = await register(t);
    const own = await tokens(t, someone, app);
    const notes = await tokens(t, someone, app, { resource: NOTES });
    expect(subOf(notes)).toBe(subOf(own));
    const of = async (resource: string) => (await grantsOf(someone)).find((g) => g['resource'] === resource)?.['id'];
    await t.call('DELETE', `/oauth/grants/${await of(NOTES)}`, { as: someone });
    expect([await isValid(notes), await isValid(own)]).toEqual([false, true]);
    expect([await isAsked(someone, app, { resource: NOTES }), await isAsked(someone, app)]).toEqual([true, false]);
    await t.call('DELETE', `/oauth/grants/${await of('http://localhost:3000')}`, { as: someone });
    expect(await isAsked(someone, app)).toBe(true);
    expect(await statusOf(someone, subOf(own))).toBe('revoked');
  });

  it('for one resource: ending one requires a new consent, and the other keeps its tokens and agent', async () => {
    const someone = await signUp(t);
    const app = await register(t);
    const [one, two] = [await tokens(t, someone, app), await tokens(t, someone, app)];
    const [newest] = await grantsOf(someone);
    await t.call('DELETE', `/oauth/grants/${newest?.['id']}`, { as: someone });
    expect([await isValid(one), await isValid(two)]).toEqual([true, false]);
    expect([await isAsked(someone, app), await statusOf(someone, subOf(one))]).toEqual([true, 'active']);
  });

  it('also deletes a consent whose code was never exchanged, which the person cannot see', async () => {
    const someone = await signUp(t);
    const app = await register(t);
    await tokens(t, someone, app);
    const request = ask(app, { resource: NOTES });
    const pending = await code(t, someone, request);
    await t.call('DELETE', `/oauth/grants/${(await grantsOf(someone))[0]?.['id']}`, { as: someone });
    expect(await isAsked(someone, app, { resource: NOTES })).toBe(true);
    expect((await exchange(t, request, pending)).body.error).toBe('invalid_grant');
  });
});

describe('the agent of a consent', () => {
  it('is the default of the next consent, by page and API, even if the code was never exchanged', async () => {
    const someone = await signUp(t);
    const app = await register(t);
    await code(t, someone, ask(app));
    const [agent] = (await t.call('GET', '/agents', { as: someone })).body;
    const page = await opened(t, authorizePath(ask(app, { prompt: 'consent' })), { as: someone });
    expect(page.text).toMatch(new RegExp(`name="agent" value="${agent.id}" checked`));
    expect(page.text).toContain('Acts as your agent “Test client”');
    const query = new URLSearchParams(ask(app, { prompt: 'consent' }).query).toString();
    const { consentToken, usualAgent } = (await t.call('GET', `/oauth/consent?${query}`, { as: someone })).body;
    expect(usualAgent).toBe(agent.id);
    const body = { decision: 'allow', consentToken };
    expect((await t.call('POST', `/oauth/consent?${query}`, { as: someone, body })).status).toBe(200);
    expect((await t.call('GET', '/agents', { as: someone })).body).toHaveLength(1);
  });
});

describe('GET /oauth/grants/:id', () => {
  it('200 for the person and an admin, as in the list; 404 for others, an ended grant and an invalid id', async () => {
    const person = await signUp(t);
    const stranger = await signUp(t);
    const client = await register(t);
    await tokens(t, person, client);
    const [grant] = await grantsOf(person);
    const read = async (as: Person, id = grant?.['id'] as string) => {
      const { status, body } = await t.call('GET', `/oauth/grants/${id}`, { as });
      return status === 200 ? body : [status, body.error.code];
    };
    expect(await read(person)).toEqual(grant);
    expect(await read(admin)).toEqual(grant);
    expect(await read(stranger)).toEqual([404, 'GRANT_NOT_FOUND']);
    expect(await read(person, 'nonsense')).toEqual([404, 'GRANT_NOT_FOUND']);
    await t.call('DELETE', `/oauth/grants/${grant?.['id']}`, { as: person });
    expect(await read(person)).toEqual([404, 'GRANT_NOT_FOUND']);
  });
});
