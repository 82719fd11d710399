import { beforeAll, describe, expect, it } from 'vitest';
import {
  ask,
  authorizePath,
  claimsOf,
  code,
  consent,
  exchange,
  form,
  locationOf,
  type Person,
  refreshWith,
  register,
  signUp,
  tokens,
} from '../../../test/support/oauth.ts';
import { createTestService, dialect, type Json, type TestService } from '../../../test/support/service.ts';
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from './token-request.ts';

const AT_ONCE = 50;

let instances: TestService[];
let person: Person;
let client: Json;
beforeAll(async () => {
  const t = await createTestService({
    lasting: true,
    config: { mcp: { signingSecret: 'the same secret for all instances' } },
  });
  instances = [t];
  // SQLite allows one process. On PostgreSQL a second instance handles half of the calls.
  if (dialect === 'postgres')
    instances.push(
      await createTestService({
        lasting: true,
        sameDatabaseAs: t,
        config: { mcp: { signingSecret: 'the same secret for all instances' } },
      }),
    );
  person = await signUp(t);
  client = await register(t);
});
const first = (): TestService => instances[0] as TestService;
const atOnce = (call: (t: TestService) => Promise<Json>): Promise<Json[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, (_, i) => call(instances[i % instances.length] as TestService)));
const validAnywhere = async (token: string): Promise<boolean> =>
  (await Promise.all(instances.map(async (t) => (await t.legate.mcp.validateToken(token)).valid))).includes(true);

describe(`${AT_ONCE} concurrent calls`, () => {
  it('[RFC 6749 4.1.2; RFC 9700 4.5] a code is exchanged once, and its second use ends all tokens', async () => {
    const request = ask(client);
    const value = await code(first(), person, request);
    const answers = await atOnce((t) => exchange(t, request, value));
    const [good, ...more] = answers.filter((r) => r.status === 200);
    expect(more).toEqual([]);
    expect(answers.filter((r) => r.body.error === 'invalid_grant')).toHaveLength(AT_ONCE - 1);
    expect(await validAnywhere(good.body.access_token)).toBe(false);
    expect((await refreshWith(first(), client, good.body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('[RFC 9700 4.14.2] one refresh token has at most one successor, and never two live families', async () => {
    const { refresh_token } = await tokens(first(), person, client);
    const answers = await atOnce((t) => refreshWith(t, client, refresh_token));
    const good = answers.filter((r) => r.status === 200);
    expect(good).toHaveLength(1);
    expect(await validAnywhere(good[0].body.access_token)).toBe(false);
    expect((await refreshWith(first(), client, good[0].body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('no token is valid after the agent was revoked during refreshes', async () => {
    const { access_token, refresh_token } = await tokens(first(), person, client);
    const end = first().call('DELETE', `/agents/${claimsOf(access_token).sub}`, { as: person });
    const r = await refreshWith(instances.at(-1) as TestService, client, refresh_token);
    await end;
    if (r.status === 200) expect(await validAnywhere(r.body.access_token)).toBe(false);
    expect(await validAnywhere(access_token)).toBe(false);
  });

  it('no remembered consent is restored, and no code stays valid, when access ends during authorizations', async () => {
    const body = { ownerId: person.id, name: 'mine', type: 'delegated' };
    const mine = (await first().call('POST', '/agents', { as: person, body })).body.id;
    const app = await register(first());
    const request = ask(app);
    const allowed = await consent(first(), person, request, { agent: mine });
    await exchange(first(), request, locationOf(allowed).searchParams.get('code') ?? '');
    const open = (t: TestService) => t.call('GET', authorizePath(request), { as: person });
    const locationIn = (r: Json): string => r['headers'].get('location') ?? '';
    const granted = (await first().call('GET', '/oauth/grants', { as: person })).body as Json[];
    const { id } = granted.find((grant) => grant['clientId'] === app.client_id) as Json;
    const end = first().call('DELETE', `/oauth/grants/${id}`, { as: person });
    const answers = await atOnce(open);
    expect((await end).status).toBe(204);
    const codes = answers.flatMap((r) => /[?&]code=([^&]+)/.exec(locationIn(r))?.[1] ?? []);
    const exchanged = await Promise.all(codes.map((value) => exchange(first(), request, value)));
    expect(exchanged.filter((r) => r.status !== 400)).toEqual([]);
    expect(locationIn(await open(first()))).toMatch(/^\/oauth\/authorize\/consent\?/);
  });
});

it.each<[string, (actor: Json, subject: Json) => Promise<Json>]>([
  ['the actor’s token is rotated', (actor) => first().call('POST', `/agents/${actor['id']}/rotate`, { as: person })],
  [
    'the source token is revoked',
    (_, { access_token }) => form(first(), '/oauth/revoke', { token: access_token, client_id: client.client_id }),
  ],
])('[ASVS 5.0 10.4.9] no exchanged token and no delegation is left if %s meanwhile', async (_what, end) => {
  const body = { ownerId: person.id, name: 'actor', type: 'delegated' };
  const pairs: [actor: Json, subject: Json][] = [];
  for (let i = 0; i < 10; i++) {
    const actor = (await first().call('POST', '/agents', { as: person, body })).body;
    pairs.push([actor, await tokens(first(), person, client, { prompt: 'consent' })]);
  }
  const answers = await Promise.all(
    pairs.map(async ([actor, subject], i) => {
      const exchanging = form(instances[i % instances.length] as TestService, '/oauth/token', {
        grant_type: TOKEN_EXCHANGE,
        subject_token: subject['access_token'],
        subject_token_type: ACCESS_TOKEN_TYPE,
        actor_token: actor['token'],
      });
      expect((await end(actor, subject))['status']).toBe(200);
      return exchanging;
    }),
  );
  for (const r of answers)
    if (r.status === 200) expect(await validAnywhere(r.body.access_token)).toBe(false);
    else expect(r.body.error, r.text).toBe('invalid_request');
  for (const [{ id }] of pairs)
    expect((await first().call('GET', `/delegations?toAgent=${id}`, { as: person })).body).toEqual([]);
});

it('[RFC 9700 4.14.2] within the grace period, parallel refreshes get the same successor', async () => {
  const t = await createTestService({ config: { mcp: { reuseGraceSeconds: 10 } } });
  const app = await register(t);
  const { refresh_token } = await tokens(t, await signUp(t), app);
  const answers = await Promise.all(Array.from({ length: 20 }, () => refreshWith(t, app, refresh_token)));
  expect(answers.map((r) => r.status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(new Set(answers.map((r) => r.body.refresh_token)).size).toBe(1);
  expect((await refreshWith(t, app, answers[0]?.body.refresh_token)).status).toBe(200);
});
