import { beforeAll, describe, expect, it } from 'vitest';
import {
  ask,
  authorizePath,
  consent,
  consentPath,
  form,
  locationOf,
  opened,
  type Person,
  register,
  registerVouched,
  signUp,
} from '../../../test/support/oauth.ts';
import { type Answered, createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const FAULTS: [string, Record<string, string | undefined>, string][] = [
  ['an unknown scope', { scope: 'everything' }, 'invalid_scope'],
  ['no challenge', { code_challenge: undefined }, 'invalid_request'],
  ['another response mode', { response_mode: 'fragment' }, 'invalid_request'],
  ['prompt=none', { prompt: 'none' }, '_required'],
];

let t: TestService;
let client: Json;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  client = await register(t);
});

/** Returns the link of an error page, and checks that the response is not a redirect. */
function offered(r: Answered): URL {
  expect([r.status, r.headers.has('location')], r.text).toEqual([400, false]);
  expect(r.headers.get('content-type')).toMatch(/^text\/html/);
  expect(r.text).toContain('<strong>app.example</strong>');
  const href = /<a class="button secondary" href="(https:\/\/app\.example[^"]*)"/.exec(r.text)?.[1] ?? '';
  return new URL(href.replaceAll('&amp;', '&'));
}

describe.each(FAULTS)('an invalid request: %s', (_what, query, error) => {
  it('[RFC 9700 4.11.2] an invalid request of a self-registered client gets a page with host and link', async () => {
    for (const as of [undefined, await signUp(t)]) {
      const to = offered(await opened(t, authorizePath(ask(client, query)), as ? { as } : {}));
      expect(to.searchParams.get('error')).toContain(error);
      expect([to.searchParams.get('state'), to.searchParams.get('iss')]).toEqual([
        'the state',
        'http://localhost:3000',
      ]);
    }
  });

  it('[RFC 9700 4.11.2] an error is redirected if an administrator registered the client', async () => {
    const r = await opened(t, authorizePath(ask(await registerVouched(t), query)));
    expect([r.status, locationOf(r).host]).toEqual([302, 'app.example']);
    expect(locationOf(r).searchParams.get('error')).toContain(error);
  });

  it('is redirected on loopback', async () => {
    const native = await register(t, { redirect_uris: ['http://127.0.0.1/callback'] });
    const r = await opened(t, authorizePath(ask(native, { redirect_uri: 'http://127.0.0.1:4711/callback', ...query })));
    expect([r.status, locationOf(r).host]).toEqual([302, '127.0.0.1:4711']);
  });
});

describe('after a consent', () => {
  const refusal = (as: Person) => opened(t, authorizePath(ask(client, { scope: 'everything' })), { as });

  it('[RFC 9700 4.11.2] an error is redirected for the same person until they end the access', async () => {
    const someone = await signUp(t);
    await consent(t, someone, ask(client));
    expect((await refusal(someone)).status).toBe(302);
    expect(
      (await opened(t, authorizePath(ask(client, { prompt: 'none', scope: 'audit:read' })), { as: someone })).status,
    ).toBe(302);
    offered(await refusal(await signUp(t)));
    expect((await opened(t, authorizePath(ask(client, { scope: 'everything' })))).status).toBe(400);
    const agents = (await t.call('GET', '/agents', { as: someone })).body;
    await t.call('DELETE', `/agents/${agents[0].id}`, { as: someone });
    offered(await refusal(someone));
  });

  it('a denial is redirected, because the page has shown the host', async () => {
    const r = await consent(t, await signUp(t), ask(client), { decision: 'deny' });
    expect([r.status, locationOf(r).searchParams.get('error')]).toEqual([303, 'access_denied']);
  });
});

it('[RFC 9700 4.11.2] the form of an invalid request gets a page too', async () => {
  const someone = await signUp(t);
  const path = consentPath(ask(client, { scope: 'everything' }));
  offered(await form(t, path, { decision: 'deny' }, { authorization: `Bearer ${someone.token}` }));
});

it('the page escapes the name of a client, and shows a custom scheme as the destination', async () => {
  const own = await register(t, { client_name: '<script>x</script>', redirect_uris: ['cursor://app/callback'] });
  const { text } = await opened(t, authorizePath(ask(own, { scope: 'everything', state: '"><b>' })));
  expect(text).toContain('&lt;script&gt;');
  expect(text).not.toMatch(/<script|"><b>/);
  expect(text).toContain('<strong>cursor:</strong>');
  expect(text).toMatch(/href="cursor:\/\/app\/callback\?error=/);
});

describe('a request without a usable redirect URI', () => {
  const page = (path: string, lang = 'en') =>
    t.call('GET', path, { headers: { accept: 'text/html', 'accept-language': lang } });

  it.each([
    [
      'an unknown client',
      { client_id: 'cli_00000000000000000000000000' },
      /is not, or no longer, known to this service/,
    ],
    ['an address that is not registered', { redirect_uri: 'https://evil.example/' }, /has not registered/],
    ['no client', { client_id: undefined }, /Go back to it and start again/],
  ])('%s: explains what to do, with one next step and details for developers', async (_what, query, text) => {
    const r = await page(authorizePath(ask(client, query)));
    expect(r.status).toBe(400);
    const main = /<main>.*<\/main>/s.exec(r.text)?.[0] ?? '';
    expect(main).toMatch(text);
    expect(main.match(/<a /g)).toHaveLength(1);
    expect(main).toContain('<details>');
    expect(main).not.toContain('href="https:');
    expect((await page(authorizePath(ask(client, query)), 'de')).text).toContain('Diese Anfrage lässt sich nicht');
  });
});
