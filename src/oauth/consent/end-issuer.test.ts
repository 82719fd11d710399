import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import {
  CLIENT,
  openPretendedProvider,
  type PretendedProvider,
  signInWith,
} from '../../../test/support/identity-provider.ts';
import { form, registerVouched } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const DOMAIN = 'example.com';

let t: TestService;
let admin: TestUser;
let client: Json;

/** A service with these issuers in its configuration, on the database of the one before. */
const start = (issuers: Json[] = []) =>
  createTestService({
    lasting: true,
    sameDatabaseAs: t,
    config: {
      federation: { allowPrivateNetworks: true },
      mcp: { signingSecret: 'the same secret for all instances' },
      users: { provision: true },
      issuers,
    },
  });

beforeAll(async () => {
  t = await start();
  admin = await t.admin();
  client = await registerVouched(t, {
    redirect_uris: [],
    grant_types: [GRANT],
    token_endpoint_auth_method: 'client_secret_post',
  });
});

interface Scene {
  readonly id: string;
  readonly provider: PretendedProvider;
  readonly workload: string;
  readonly enterprise: string;
  readonly browser: FormClient;
  readonly userId: string;
}

let count = 0;
const seconds = () => Math.floor(t.clock.now() / 1000);
const common = (more: Json = {}): Json => ({
  iat: seconds(),
  exp: seconds() + 300,
  jti: crypto.randomUUID(),
  ...more,
});
const workloadToken = ({ provider }: Pick<Scene, 'provider'>) =>
  provider.sign(common({ sub: 'job', aud: t.legate.baseUrl }));
const idJag = ({ provider }: Pick<Scene, 'provider'>, email: string) =>
  provider.sign(
    common({
      sub: email,
      email,
      email_verified: true,
      aud: t.legate.platform.issuer,
      client_id: client['client_id'],
      scope: 'mcp:read',
    }),
    { typ: 'oauth-id-jag+jwt' },
  );
const show = async (assertion: string, by: Json = {}): Promise<Json> =>
  (await form(t, '/oauth/token', { grant_type: GRANT, assertion, ...by })).body;
const byClient = () => ({ client_id: client['client_id'], client_secret: client['client_secret'] });

async function post(issuer: Json): Promise<string> {
  const made = await t.call('POST', '/issuers', { as: admin, body: issuer });
  expect(made.status, made.text).toBe(201);
  return made.body.id;
}

const USES = ['signIn', 'workload', 'enterprise'];

/** An issuer with all uses, and an access token or session of each. */
async function scene(trust: (issuer: Json) => Promise<string> = post): Promise<Scene> {
  const provider = await openPretendedProvider();
  const name = `issuer-${++count}`;
  const id = await trust({ name, issuer: provider.address, uses: USES, ...CLIENT, domains: [DOMAIN] });
  const owner = await t.user();
  const agent = await t.agent(owner);
  const trusted = { issuer: provider.address, subject: 'job' };
  expect((await t.call('POST', `/agents/${agent.id}/trust`, { as: owner, body: trusted })).status).toBe(201);
  const email = `person-${count}@${DOMAIN}`;
  provider.idToken = (nonce) =>
    provider.sign(common({ sub: email, email, email_verified: true, aud: CLIENT.clientId, nonce }));
  const browser = new FormClient(t);
  expect((await signInWith(browser, name)).status).toBe(303);
  const workload = await show(await workloadToken({ provider }), { client_id: agent.id });
  const enterprise = await show(await idJag({ provider }, email), byClient());
  return {
    id,
    provider,
    workload: workload['access_token'],
    enterprise: enterprise['access_token'],
    browser,
    userId: (await browser.get('/auth/session')).body.user.id,
  };
}

const isValid = async (token: string) => (await t.legate.mcp.validateToken(token)).valid;
async function isSignedIn({ cookies }: FormClient): Promise<boolean> {
  const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
  return (await t.call('GET', '/auth/session', { headers: { cookie } })).body.user !== undefined;
}
const living = async ({ workload, enterprise, browser }: Scene) => ({
  workload: await isValid(workload),
  enterprise: await isValid(enterprise),
  session: await isSignedIn(browser),
});
const reasons = async (): Promise<string[]> =>
  (await t.call('GET', '/events?types=grant.revoked&limit=1000', { as: admin })).body.map(
    (e: Json) => e['data'].reason,
  );
/** Why the session of the scene ended; undefined if it did not. */
const endOfSession = async ({ userId }: Scene): Promise<string | undefined> =>
  (await t.call('GET', `/events?types=session.ended&userId=${userId}`, { as: admin })).body[0]?.['data'].reason;
const change = (id: string, body: Json) => t.call('PATCH', `/issuers/${id}`, { as: admin, body });

describe('an issuer', () => {
  it.each<[string, string[], Json]>([
    ['workload', ['signIn', 'enterprise'], { workload: false, enterprise: true, session: true }],
    ['enterprise', ['signIn', 'workload'], { workload: true, enterprise: false, session: true }],
    ['workload and enterprise', ['signIn'], { workload: false, enterprise: false, session: true }],
    ['signIn', ['workload', 'enterprise'], { workload: true, enterprise: true, session: false }],
  ])('that loses the use %s ends the access tokens or sessions of that use at once', async (_uses, uses, left) => {
    const [changed, other] = [await scene(), await scene()];
    expect(await living(changed)).toEqual({ workload: true, enterprise: true, session: true });
    const known = (await reasons()).length;
    expect((await change(changed.id, { uses })).status).toBe(200);
    expect(await living(changed)).toEqual(left);
    expect(await living(other)).toEqual({ workload: true, enterprise: true, session: true });
    const ended = (await reasons()).slice(0, -known || undefined);
    const { session: _, ...tokens } = left;
    expect(ended).toEqual(Object.values(tokens).flatMap((lives) => (lives ? [] : ['issuer-changed'])));
    expect(await endOfSession(changed)).toBe(left['session'] ? undefined : 'issuer-changed');
    // A use that is given back does not revive what ended.
    expect((await change(changed.id, { uses: ['signIn', 'workload', 'enterprise'] })).status).toBe(200);
    expect(await living(changed)).toEqual(left);
  });

  it('that is deleted ends the access tokens and sessions of all its uses at once', async () => {
    const [deleted, other] = [await scene(), await scene()];
    const known = (await reasons()).length;
    expect((await t.call('DELETE', `/issuers/${deleted.id}`, { as: admin })).status).toBe(204);
    expect(await living(deleted)).toEqual({ workload: false, enterprise: false, session: false });
    expect(await endOfSession(deleted)).toBe('issuer-deleted');
    expect(await living(other)).toEqual({ workload: true, enterprise: true, session: true });
    expect((await reasons()).slice(0, -known || undefined)).toEqual(['issuer-deleted', 'issuer-deleted']);
  });

  it('that is changed otherwise, or gets a use, ends nothing', async () => {
    const kept = await scene();
    for (const body of [
      { name: `renamed-${count}` },
      { audience: 'x' },
      { uses: ['enterprise', 'workload', 'signIn'] },
    ])
      expect((await change(kept.id, body)).status).toBe(200);
    expect(await living(kept)).toEqual({ workload: true, enterprise: true, session: true });
  });
});

describe('an issuer of the configuration', () => {
  const configured = async (issuer: Json): Promise<string> => {
    t = await start([issuer]);
    return (await t.call('GET', '/issuers', { as: admin })).body.find((one: Json) => one.name === issuer.name).id;
  };
  const restart = async (issuers: Json[]): Promise<void> => {
    await t.legate.close();
    t = await start(issuers);
  };
  const events = async (type: string): Promise<Json[]> =>
    (await t.call('GET', `/events?types=${type}&limit=1000`, { as: admin })).body;

  it('that a start no longer has, or with fewer uses, ends what it gave, with the events of the API', async () => {
    let issuer: Json;
    const [other, made] = [
      await scene(),
      await scene((given) => {
        issuer = given;
        return configured(given);
      }),
    ];
    const known = (await reasons()).length;
    await restart([{ ...issuer, name: 'renamed' }]);
    expect(await living(made)).toEqual({ workload: true, enterprise: true, session: true });
    await restart([{ ...issuer, uses: ['workload', 'enterprise'] }]);
    expect(await living(made)).toEqual({ workload: true, enterprise: true, session: false });
    expect(await endOfSession(made)).toBe('issuer-changed');
    const [lost] = await events('issuer.updated');
    expect(lost).toMatchObject({
      data: { issuerId: made.id, name: 'renamed' },
      actor: { kind: 'system' },
      before: { uses: USES },
      after: { uses: ['workload', 'enterprise'] },
    });
    await restart([]);
    expect(await living(made)).toEqual({ workload: false, enterprise: false, session: false });
    expect((await reasons()).slice(0, -known || undefined)).toEqual(['issuer-deleted', 'issuer-deleted']);
    const deleted = await events('issuer.deleted');
    expect(deleted[0]).toMatchObject({ data: { issuerId: made.id }, actor: { kind: 'system' } });
    await restart([]);
    expect(await events('issuer.deleted')).toEqual(deleted);
    expect(await living(other)).toEqual({ workload: true, enterprise: true, session: true });
  });

  it.each<[string, (issuer: Json) => Json, Json]>([
    [
      'address, for fewer uses',
      (issuer) => ({ ...issuer, name: `other-${++count}`, uses: ['workload'] }),
      { workload: true, enterprise: false, session: false },
    ],
    [
      'name',
      (issuer) => ({ ...issuer, issuer: `https://other-${++count}.example` }),
      { workload: false, enterprise: false, session: false },
    ],
  ])('that replaces an issuer of the API with its %s ends what that one gave', async (_same, replace, left) => {
    let issuer: Json = {};
    const made = await scene((given) => {
      issuer = given;
      return post(given);
    });
    const other = await scene();
    expect(await living(made)).toEqual({ workload: true, enterprise: true, session: true });
    await restart([replace(issuer)]);
    expect(await living(made)).toEqual(left);
    expect(await living(other)).toEqual({ workload: true, enterprise: true, session: true });
    const type = left['workload'] ? 'issuer.updated' : 'issuer.deleted';
    expect((await events(type))[0]).toMatchObject({ data: { issuerId: made.id }, actor: { kind: 'system' } });
    await restart([]);
    expect(await living(made)).toEqual(left);
  });

  it('that replaces an issuer of the API with all its uses ends nothing, also if that is deleted', async () => {
    let issuer: Json = {};
    const made = await scene((given) => {
      issuer = given;
      return post(given);
    });
    await restart([issuer]);
    expect(await living(made)).toEqual({ workload: true, enterprise: true, session: true });
    expect((await t.call('DELETE', `/issuers/${made.id}`, { as: admin })).status).toBe(204);
    expect(await living(made)).toEqual({ workload: true, enterprise: true, session: true });
    await restart([]);
    expect(await living(made)).toEqual({ workload: false, enterprise: false, session: false });
  });

  it('that moved to the API, or that a command without it looks at, ends nothing', async () => {
    let issuer: Json;
    const made = await scene((given) => {
      issuer = given;
      return configured(given);
    });
    const command = await createTestService({ sameDatabaseAs: t, serves: false });
    await command.legate.close();
    expect(await living(made)).toEqual({ workload: true, enterprise: true, session: true });
    const { database } = t.legate.platform;
    const row = { ...issuer, id: made.id };
    await database.write
      .insertInto('issuers')
      .values({
        ...{ id: row.id, name: row.name, issuer: row.issuer, uses: JSON.stringify(USES), algorithms: '["ES256"]' },
        ...{ client_id: CLIENT.clientId, client_secret: null, claim_map: null, second_factors: null },
        ...{ audience: null, jwks_uri: null, created_at: 1, updated_at: 1 },
      })
      .execute();
    await restart([]);
    expect(await living(made)).toEqual({ workload: true, enterprise: true, session: true });
  });
});
