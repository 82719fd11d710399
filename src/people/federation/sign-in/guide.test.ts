import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import { openGitHub } from '../../../../test/support/github.ts';
import {
  begin,
  CLIENT,
  createProvisioningService,
  openRealProvider,
  type RealProvider,
  throughProvider,
} from '../../../../test/support/identity-provider.ts';
import type { Json, TestService, TestUser } from '../../../../test/support/service.ts';
import { IssuerErrors } from '../errors.ts';
import { PRESET_NAMES, PRESETS } from '../presets.ts';

const NAME = 'sign-in-with-your-identity-provider.md';
const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guides', NAME), 'utf8');
const BASE_URL = 'https://legate.example.com';

/** The bodies of the requests that register a provider. */
const [okta, github] = [...guide.matchAll(/POST https:\/\/legate\.example\.com(\/issuers) [^{]*-d '(\{[^']+\})'/g)].map(
  ([, , body]) => JSON.parse(body as string) as Json,
) as [Json, Json];
const [map] = [...guide.matchAll(/^"map": (\[[^`]+\])\n```/gm)].map(([, json]) => JSON.parse(json as string) as Json[]);
/** The paths of the addresses that have their own lines. */
const [callback, logout] = [...guide.matchAll(/^ *https:\/\/legate\.example\.com(\/\S+)$/gm)].map(([, path]) => path);
const start = /`(\/auth\/oidc\/okta\/start\?[^`]+)`/.exec(guide)?.[1] as string;
const rowsOf = (heading: string): string[][] =>
  (guide.split(`## ${heading}\n`)[1]?.split(/^#/m)[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('|--'))
    .slice(1)
    .map((line) => line.slice(2, -2).split(' | '));

let t: TestService;
let admin: TestUser;
let real: RealProvider;

beforeAll(async () => {
  t = await createProvisioningService();
  admin = await t.admin();
  await t.call('POST', '/tenants', { as: admin, body: { name: 'Sales', slug: 'sales' } });
  real = await openRealProvider([t.legate.baseUrl + callback], (url, options) =>
    t.legate.fetch(new Request(url, options), { remoteAddress: '127.0.0.1' }),
  );
  const body = { ...okta, issuer: real.address, ...CLIENT, map };
  const r = await t.call('POST', '/issuers', { as: admin, body });
  expect(r.status, r.text).toBe(201);
});

async function signIn(claims: RealProvider['person']): Promise<{ browser: FormClient; user: Json }> {
  real.person = claims;
  const browser = new FormClient(t);
  const page = (await browser.get(start)).headers.get('location') as string;
  const r = await browser.get(await throughProvider(t, page));
  expect([r.status, r.headers.get('location')]).toEqual([
    303,
    new URLSearchParams(start.split('?')[1]).get('returnTo'),
  ]);
  return { browser, user: (await browser.get('/auth/session')).body.user };
}
const ada = { sub: 'ada', email: 'ada@acme.com', email_verified: true };

describe(`docs/guides/${NAME}`, () => {
  it('registers a provider with which people sign in, and get role and tenant from the map', async () => {
    const first = await signIn({ ...ada, groups: ['Security'], department: 'Sales' });
    expect(first.user).toMatchObject({ email: 'ada@acme.com', role: 'auditor', tenantId: expect.any(String) });
    const again = await signIn({ ...ada, groups: ['Security', 'Legate administrators'] });
    expect(again.user).toMatchObject({ id: first.user['id'], role: 'admin', tenantId: null });

    // The provider sends its logout tokens to the address in the guide. A token for another session ends no session of
    // this test.
    expect(logout).toBe(callback?.replace(/callback$/, 'logout'));
    await real.logout('ada', 'another session');
    expect((await again.browser.get('/auth/session')).status).toBe(200);
  });

  it('registers GitHub, with which people of the domains sign in', async () => {
    const hub = await openGitHub(CLIENT);
    const body = { ...github, issuer: hub.issuer, ...CLIENT };
    expect((await t.call('POST', '/issuers', { as: admin, body })).status).toBe(201);
    hub.account = {
      id: 7,
      login: 'grace',
      name: 'Grace',
      emails: [{ email: 'grace@acme.com', primary: true, verified: true }],
    };
    const browser = new FormClient(t);
    const page = await begin(browser, 'github');
    expect(guide).toContain(`${BASE_URL}${new URL(page.searchParams.get('redirect_uri') ?? '').pathname}\``);
    expect(guide).toContain(`scope \`${page.searchParams.get('scope')}\``);
    expect((await browser.get(await hub.agree(page))).status).toBe(303);
    expect((await browser.get('/auth/session')).body.user).toMatchObject({ email: 'grace@acme.com', name: 'Grace' });
  });

  it('has each preset, with its address if that is filled in', async () => {
    const rows = rowsOf('Presets').map((cells) => cells.map((cell) => cell.replaceAll('`', '').trim()));
    expect(rows.map(([preset]) => preset)).toEqual([...PRESET_NAMES]);
    for (const [preset, issuer = ''] of rows) {
      const { issuer: own, form } = PRESETS[preset as (typeof PRESET_NAMES)[number]];
      if (issuer.startsWith('filled in')) expect(['filled in', `filled in: ${own}`], preset).toContain(issuer);
      else {
        expect(own, preset).toBeUndefined();
        const example = issuer.replace('<tenant id>', crypto.randomUUID()).replaceAll(/[<>]/g, '');
        expect(form?.test(example), example).toBe(true);
      }
    }
  });

  it('explains each page that a failed sign-in shows, in the words of the page', () => {
    const messages = Object.values(IssuerErrors).map((error) => error().message);
    const rows = rowsOf('When it fails').map(([says]) => says as string);
    expect(rows).toHaveLength(4);
    for (const says of rows)
      expect(
        messages.filter((message) => message.startsWith(says)),
        says,
      ).toHaveLength(1);
  });
});
