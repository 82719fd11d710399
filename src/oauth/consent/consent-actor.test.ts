import { beforeAll, describe, expect, it } from 'vitest';
import { answerDevice, deviceClient, pollDevice, startDevice } from '../../../test/support/device.ts';
import { ask, code, exchange, form, type Person, register, signUp } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

let t: TestService;
let admin: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
});

const grantsOf = async (as: Person): Promise<Json[]> => (await t.call('GET', '/oauth/grants', { as })).body;
/** Returns the changes of the person's agents, oldest first. */
async function changesOf(person: Person): Promise<Json[]> {
  const types = ['agent.created', 'agent.updated', 'consent.remembered', 'device.answered'];
  const path = `/changes?${types.map((type) => `type=${type}`).join('&')}&limit=100`;
  const all: Json[] = (await t.call('GET', path, { as: person })).body;
  return all.reverse();
}

/** Lets the person allow the scopes. Returns the exchange of what the client got. */
type Way = (person: Person, client: Json, scope: string) => Promise<() => Promise<{ status: number }>>;

const byApi: Way = async (person, client, scope) => {
  const request = ask(client, { scope, prompt: 'consent' });
  const path = `/oauth/consent?${new URLSearchParams(request.query)}`;
  const { consentToken } = (await t.call('GET', path, { as: person })).body;
  const r = await t.call('POST', path, { as: person, body: { decision: 'allow', consentToken } });
  return () => exchange(t, request, new URL(r.body.redirectTo).searchParams.get('code') ?? '');
};
const byPage: Way = async (person, client, scope) => {
  const request = ask(client, { scope, prompt: 'consent' });
  const value = await code(t, person, request);
  return () => exchange(t, request, value);
};
const byDevice: Way = async (person, client, scope) => {
  const { device } = await startDevice(t, { scope }, client);
  const ticked = Object.fromEntries(scope.split(' ').map((name) => [`scope:${name}`, 'on']));
  const [agent] = (await t.call('GET', '/agents', { as: person })).body;
  await answerDevice(t, person, device.user_code, { ...ticked, ...(agent ? { agent: agent.id } : {}) });
  return () => pollDevice(t, client, device.device_code);
};

describe.each<[string, Way, () => Promise<Json>]>([
  ['the API', byApi, () => register(t)],
  ['the page', byPage, () => register(t)],
  ['the page of devices', byDevice, () => deviceClient(t)],
])('a consent by %s', (_how, allow, newClient) => {
  it('names person, client and grant as the actor of what it does to agents', async () => {
    const [person, other] = [await signUp(t), await signUp(t)];
    const client = await newClient();
    const others = await allow(other, client, 'mcp:read');
    const first = await allow(person, client, 'mcp:read');
    expect((await first()).status).toBe(200);
    const second = await allow(person, client, 'mcp:read mcp:execute');
    expect((await second()).status).toBe(200);
    expect((await others()).status).toBe(200);
    const [newest, oldest] = await grantsOf(person);
    const changes = await changesOf(person);
    expect(changes.map(({ type }) => type).filter((type) => type.startsWith('agent.'))).toEqual([
      'agent.created',
      'agent.updated',
    ]);
    const grantOf = (type: string): Json => (type === 'agent.created' ? oldest : newest) as Json;
    for (const { type, actor } of changes.filter(({ type }) => type.startsWith('agent.')))
      expect(actor, type).toMatchObject({
        kind: 'user',
        id: person.id,
        clientId: client.client_id,
        grantId: grantOf(type)['id'],
      });
    const named = changes.map(({ actor }) => actor.grantId);
    expect(named).toEqual([oldest?.['id'], oldest?.['id'], newest?.['id'], newest?.['id']]);
    const [theirs] = await grantsOf(other);
    expect((await changesOf(other)).map(({ actor }) => actor.grantId)).toEqual([theirs?.['id'], theirs?.['id']]);
    expect((await t.call('GET', `/oauth/grants/${named[0]}`, { as: admin })).body.userId).toBe(person.id);
  });

  it('creates no grant before the client asks for tokens, and one if it asks twice', async () => {
    const person = await signUp(t);
    const take = await allow(person, await newClient(), 'mcp:read');
    const [{ actor }] = (await changesOf(person)) as [Json];
    expect(actor.grantId).toMatch(/^grt_/);
    expect(await grantsOf(person)).toEqual([]);
    expect((await t.call('GET', `/oauth/grants/${actor.grantId}`, { as: person })).status).toBe(404);
    const answers = await Promise.all([take(), take()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });
});

describe('a consent', () => {
  it('of the previous version has no grant yet, and gets one at the exchange', async () => {
    const [person, client, device] = [await signUp(t), await register(t), await deviceClient(t)];
    const request = ask(client);
    const value = await code(t, person, request);
    const byTelevision = await byDevice(person, device, 'mcp:read');
    await t.legate.platform.ledger.maintain(async (db) => {
      for (const table of ['oauth_codes', 'oauth_device_requests'] as const)
        await db.updateTable(table).set({ grant_id: null }).where('user_id', '=', person.id).execute();
    });
    expect((await exchange(t, request, value)).status).toBe(200);
    expect((await byTelevision()).status).toBe(200);
    expect(await grantsOf(person)).toHaveLength(2);
    // A second use of the code ends its grant.
    expect((await exchange(t, request, value)).body.error).toBe('invalid_grant');
    expect((await grantsOf(person)).map(({ kind }) => kind)).toEqual(['device_code']);
  });

  it('that is refused names no grant', async () => {
    const person = await signUp(t);
    const { device } = await startDevice(t);
    await answerDevice(t, person, device.user_code, { decision: 'deny' });
    const [{ type, actor }] = (await changesOf(person)) as [Json];
    expect([type, 'grantId' in actor]).toEqual(['device.answered', false]);
  });

  it('whose code ends after a wrong verifier ends no grant of the person', async () => {
    const person = await signUp(t);
    const client = await register(t);
    const kept = await byPage(person, client, 'mcp:read');
    expect((await kept()).status).toBe(200);
    const request = ask(client, { prompt: 'consent' });
    const value = await code(t, person, request);
    for (const code_verifier of ['x'.repeat(43), request.verifier])
      expect((await exchange(t, request, value, { code_verifier })).body.error).toBe('invalid_grant');
    expect(await grantsOf(person)).toHaveLength(1);
    expect((await form(t, '/oauth/token', { grant_type: 'authorization_code' })).body.error).toBe('invalid_request');
  });
});
