import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import {
  type Asked,
  ask,
  authorizePath,
  consentPath,
  consentTokenOf,
  exchange,
  locationOf,
  opened,
  register,
  signUp,
} from '../../../test/support/oauth.ts';
import { type Answered, createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { deleteExpiredForms } from './consent-form.ts';

let t: TestService;
let client: Json;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  client = await register(t);
});

async function signedIn(of = t): Promise<FormClient & { token: string }> {
  const someone = await signUp(of);
  const browser = new FormClient(of);
  browser.cookies.set(`${of.database.name}_session`, someone.token);
  return Object.assign(browser, { token: someone.token });
}
const fieldsOf = async (browser: FormClient, request: Asked): Promise<Record<string, string>> => ({
  'scope:mcp:read': 'on',
  agent: 'new',
  decision: 'allow',
  consentToken: consentTokenOf(await browser.get(consentPath(request))),
});
const codeOf = (r: Answered): string | null => locationOf(r).searchParams.get('code');
const grantsOf = async (of: TestService, as: string) => (await of.call('GET', '/oauth/grants', { as })).body;

describe('a consent form', () => {
  it('that is sent twelve times concurrently creates one code, one agent and one grant', async () => {
    const browser = await signedIn();
    const request = ask(client);
    const fields = await fieldsOf(browser, request);
    const answers = await Promise.all(Array.from({ length: 12 }, () => browser.post(consentPath(request), fields)));
    expect(new Set(answers.map((r) => r.status))).toEqual(new Set([303]));
    const codes = new Set(answers.map(codeOf));
    expect([codes.size, [...codes][0]]).toEqual([1, expect.stringMatching(/^lga_/)]);
    expect((await t.call('GET', '/agents', { as: browser.token })).body).toHaveLength(1);
    expect((await exchange(t, request, [...codes][0] ?? '')).status).toBe(200);
    expect(await grantsOf(t, browser.token)).toHaveLength(1);
  });

  it('that is sent again gets the first response, whatever it contains then; a denial stays a denial', async () => {
    const browser = await signedIn();
    for (const [first, second] of [
      ['allow', 'deny'],
      ['deny', 'allow'],
    ] as const) {
      const request = ask(client, { prompt: 'consent' });
      const fields = await fieldsOf(browser, request);
      const one = await browser.post(consentPath(request), { ...fields, decision: first });
      const two = await browser.post(consentPath(request), { ...fields, decision: second });
      expect(two.headers.get('location')).toBe(one.headers.get('location'));
    }
  });

  it('gets 409 with a link once its code was exchanged or has expired', async () => {
    const own = await createTestService();
    const app = await register(own);
    const browser = await signedIn(own);
    const used = ask(app);
    const usedFields = await fieldsOf(browser, used);
    const code = codeOf(await browser.post(consentPath(used), usedFields)) ?? '';
    expect((await exchange(own, used, code)).status).toBe(200);
    const again = await browser.post(consentPath(used), usedFields);
    expect([again.status, again.headers.has('location')]).toEqual([409, false]);
    expect(again.text).toContain('/account/apps');
    expect(await grantsOf(own, browser.token)).toHaveLength(1);

    const expired = ask(app, { prompt: 'consent' });
    const fields = await fieldsOf(browser, expired);
    expect((await browser.post(consentPath(expired), fields)).status).toBe(303);
    own.clock.advance(60_000);
    expect((await browser.post(consentPath(expired), fields)).status).toBe(409);
    const answers = () => own.legate.platform.database.read.selectFrom('oauth_consent_answers').selectAll().execute();
    own.clock.advance(1000);
    await deleteExpiredForms(own.legate.platform.database.write, own.clock.now());
    expect((await answers()).map((row) => row.answer)).toEqual([null, null]);
    expect((await browser.post(consentPath(expired), fields)).status).toBe(409);
    own.clock.advance(3600_000);
    await deleteExpiredForms(own.legate.platform.database.write, own.clock.now());
    expect(await answers()).toEqual([]);
    expect((await browser.post(consentPath(expired), fields)).status).toBe(403);
  });

  it('stores no code in plain text', async () => {
    const browser = await signedIn();
    const request = ask(client);
    const code = codeOf(await browser.post(consentPath(request), await fieldsOf(browser, request))) ?? '';
    const rows = await t.legate.platform.database.read.selectFrom('oauth_consent_answers').selectAll().execute();
    expect(code).toMatch(/^lga_/);
    expect(JSON.stringify(rows)).not.toContain(code);
  });

  it('[ASVS 5.0 10.7.1] consent is refused without its token, or with that of another session or request', async () => {
    const browser = await signedIn();
    const request = ask(client);
    const fields = await fieldsOf(browser, request);
    const own = fields['consentToken'] ?? '';
    const sameBrowserAgain = await t.call('POST', '/api-tokens', { as: browser.token, body: { name: 'another' } });
    const foreign = [
      '',
      'x',
      'x.y.z.u',
      `${own}x`,
      own.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')),
      (await fieldsOf(await signedIn(), request))['consentToken'] ?? '',
      (await fieldsOf(browser, ask(client)))['consentToken'] ?? '',
      (await fieldsOf(browser, { ...request, query: { ...request.query, scope: 'mcp:read' } }))['consentToken'] ?? '',
      (await fieldsOf(browser, { ...request, query: { ...request.query, state: 'other' } }))['consentToken'] ?? '',
      consentTokenOf(await opened(t, authorizePath(request), { as: sameBrowserAgain.body.token })),
    ];
    expect(foreign.slice(5).every((token) => token.length > 40)).toBe(true);
    for (const consentToken of foreign) {
      for (const decision of ['allow', 'deny']) {
        const r = await browser.post(consentPath(request), { ...fields, decision, consentToken });
        expect([r.status, r.headers.has('location')], consentToken).toEqual([403, false]);
        expect(r.text).toContain('class="button');
      }
    }
    const { consentToken: _, ...without } = fields;
    expect((await browser.post(consentPath(request), without)).status).toBe(403);
    expect((await t.call('GET', '/agents', { as: browser.token })).body).toEqual([]);
    expect((await browser.post(consentPath(request), fields)).status).toBe(303);
  });

  it('can be submitted for an hour', async () => {
    const own = await createTestService();
    const browser = await signedIn(own);
    const request = ask(await register(own));
    const fields = await fieldsOf(browser, request);
    own.clock.advance(3600_000);
    const late = await browser.post(consentPath(request), fields);
    expect(late.status).toBe(403);
    expect(late.text).toContain(`href="${consentPath(request).replaceAll('&', '&amp;')}"`);
    const next = await fieldsOf(browser, request);
    own.clock.advance(3600_000 - 1);
    expect((await browser.post(consentPath(request), next)).status).toBe(303);
  });

  it('can be submitted again if its agent could not be created', async () => {
    const own = await createTestService({ config: { agents: { maxPerOwner: 1 } } });
    const browser = await signedIn(own);
    const user = (await own.call('GET', '/auth/session', { as: browser.token })).body.user;
    const made = await own.call('POST', '/agents', {
      as: browser.token,
      body: { ownerId: user.id, name: 'one', type: 'service' },
    });
    const request = ask(await register(own));
    const fields = await fieldsOf(browser, request);
    expect((await browser.post(consentPath(request), fields)).status).toBe(400);
    await own.call('DELETE', `/agents/${made.body.id}`, { as: browser.token });
    expect((await browser.post(consentPath(request), fields)).status).toBe(303);
  });
});

it('a consent form with an agent that no database can have is shown again', async () => {
  const browser = await signedIn();
  const request = ask(client);
  const refused = await browser.post(consentPath(request), {
    ...(await fieldsOf(browser, request)),
    agent: 'agt_\u0000',
  });
  expect([refused.status, refused.text.includes('Choose one of your active agents')]).toEqual([400, true]);
});

describe('POST /oauth/consent', () => {
  const queryOf = (request: Asked): string => consentPath(request).split('?')[1] ?? '';
  const details = async (request: Asked, as: string): Promise<Json> =>
    (await t.call('GET', `/oauth/consent?${queryOf(request)}`, { as })).body;

  it('accepts a token once, repeats its response, and refuses a missing token or that of another session', async () => {
    const { token } = await signUp(t);
    const request = ask(client, { scope: 'mcp:read agents:write' });
    const got = await details(request, token);
    expect(got['scopes'].map((s: Json) => s['sensitive'])).toEqual([false, true]);
    const decide = (body: Json, as = token) =>
      t.call('POST', `/oauth/consent?${queryOf(request)}`, { as, body: { decision: 'allow', ...body } });
    expect((await decide({})).body.error.code).toBe('VALIDATION_FAILED');
    const other = await signUp(t);
    for (const [consentToken, as] of [
      ['x', token],
      [got['consentToken'], other.token],
      [(await details(ask(client), token))['consentToken'], token],
    ])
      expect((await decide({ consentToken }, as)).body.error.code).toBe('CONSENT_TOKEN_INVALID');
    const answers = await Promise.all(Array.from({ length: 12 }, () => decide({ consentToken: got['consentToken'] })));
    expect(new Set(answers.map((r) => r.body.redirectTo)).size).toBe(1);
    const code = new URL(answers[0]?.body.redirectTo).searchParams.get('code') ?? '';
    expect((await exchange(t, request, code)).body.scope).toBe('mcp:read agents:write');
    expect((await decide({ consentToken: got['consentToken'] })).body.error.code).toBe('CONSENT_ALREADY_GIVEN');
    expect((await t.call('GET', '/agents', { as: token })).body).toHaveLength(1);
  });

  it('creates one agent for a client, however many of its requests are allowed at the same time', async () => {
    const { token } = await signUp(t);
    const requests = Array.from({ length: 6 }, () => ask(client));
    const forms = await Promise.all(requests.map((request) => details(request, token)));
    const answers = await Promise.all(
      forms.map(({ consentToken }, i) =>
        t.call('POST', `/oauth/consent?${queryOf(requests[i] as Asked)}`, {
          as: token,
          body: { decision: 'allow', consentToken },
        }),
      ),
    );
    expect(answers.map((r) => r.status)).toEqual(forms.map(() => 200));
    expect((await t.call('GET', '/agents', { as: token })).body).toHaveLength(1);
  });

  it('[ASVS 5.0 10.7.1] consent by cookie is accepted only from this origin and that of mcp.consentPage', async () => {
    const trustedOrigins = ['https://console.example', 'https://login.example'];
    const own = await createTestService({
      config: { http: { trustedOrigins }, mcp: { consentPage: 'https://login.example/consent' } },
    });
    const app = await register(own);
    const someone = await signUp(own);
    const cookie = `${own.database.name}_session=${someone.token}`;
    const decide = async (headers: Record<string, string>): Promise<number> => {
      const path = `/oauth/consent?${queryOf(ask(app))}`;
      const { consentToken } = (await own.call('GET', path, { as: someone })).body;
      return (
        await own.call('POST', path, { headers: { cookie, ...headers }, body: { decision: 'deny', consentToken } })
      ).status;
    };
    expect(await decide({ origin: 'https://console.example', 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await decide({ referer: 'https://console.example/page' })).toBe(403);
    expect(await decide({})).toBe(403);
    expect(await decide({ origin: 'https://login.example', 'sec-fetch-site': 'cross-site' })).toBe(200);
    expect(await decide({ origin: 'http://localhost:3000', 'sec-fetch-site': 'same-origin' })).toBe(200);
  });
});
