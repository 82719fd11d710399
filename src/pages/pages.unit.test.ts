import { describe, expect, it } from 'vitest';
import { LegateError } from '../kernel/errors.ts';
import {
  actions,
  assertOwnForm,
  button,
  card,
  checkbox,
  errorPage,
  errorSummary,
  facts,
  field,
  form,
  html,
  languageOf,
  list,
  notice,
  page,
  radios,
  type Site,
  safeReturnTo,
  seeOther,
  signInLocation,
  textsFor,
} from './index.ts';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';

const site: Site = {
  baseUrl: 'https://legate.example',
  config: { service: { name: 'legate' }, http: { restPath: '/', trustedOrigins: ['https://app.example'] } },
};
const request = (headers: Record<string, string> = {}, url = 'https://legate.example/x'): Request =>
  new Request(url, { headers });
const EVIL = `<script>'"&</script>`;
const ESCAPED = '&lt;script&gt;&#39;&quot;&amp;&lt;/script&gt;';

describe('html', () => {
  it('escapes every value once, in text and in attributes', () => {
    const inner = html`<b title="${EVIL}">${EVIL}</b>`;
    expect(String(inner)).toBe(`<b title="${ESCAPED}">${ESCAPED}</b>`);
    expect(String(html`<p>${inner}${[inner, 1, null, undefined, false]}</p>`)).toBe(`<p>${inner}${inner}1</p>`);
  });

  it('escapes objects that only look like safe HTML', () => {
    const forged = { toString: () => '<b>' } as unknown as string;
    expect(String(html`${forged}`)).not.toContain('<b>');
  });

  it('no component inserts a value unescaped', () => {
    const t = en;
    const all = [
      field(t, { name: 'a', label: EVIL, hint: EVIL, value: EVIL, autocomplete: EVIL }, [
        { field: 'a', message: EVIL },
      ]),
      checkbox({ name: EVIL, value: EVIL, label: EVIL, hint: EVIL }),
      radios(EVIL, 'r', [{ value: EVIL, label: EVIL, hint: EVIL }]),
      button({ label: EVIL, name: EVIL, value: EVIL, spoken: EVIL }),
      form(EVIL, '', { a: EVIL }),
      errorSummary(t, [{ message: EVIL }, { field: EVIL, message: EVIL }]),
      notice('error', EVIL),
      list([card({ title: EVIL, badge: EVIL, lines: [EVIL], actions: actions(button({ label: EVIL })) })]),
      facts([[EVIL, EVIL]]),
    ].join('');
    expect(all).toContain(ESCAPED);
    expect(all).not.toContain('<script>');
    expect(all.replaceAll(ESCAPED, '')).not.toMatch(/script|&/);
  });

  it('never contains a submitted password', () => {
    expect(String(field(en, { name: 'p', label: 'P', type: 'password', value: 'sekret' }))).not.toContain('sekret');
  });
});

describe('page', () => {
  it('has headers that allow only its own style and forms', async () => {
    const r = page(site, request(), { title: EVIL, body: html`<p>x</p>` });
    expect(Object.fromEntries(r.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'content-language': 'en',
    });
    expect(r.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    const text = await r.text();
    expect(text).toContain(`<title>${ESCAPED} – Legate</title>`);
    expect(text).not.toMatch(/<script|style=| on[a-z]+=/);
  });

  it('marks a failure in the title, and sends no referrer from a secret address', async () => {
    const r = page(site, request(), { title: 'T', body: html``, failed: true, status: 400, secretAddress: true });
    expect([r.status, r.headers.get('referrer-policy')]).toEqual([400, 'no-referrer']);
    expect(await r.text()).toContain('<title>Error: T – Legate</title>');
  });

  it.each([
    ['https://client.example:8443/cb?x=1', 'https://client.example:8443'],
    ['http://127.0.0.1:7777/cb', 'http://127.0.0.1:7777'],
    ['http://[::1]:7777/cb', 'http:'],
    ['cursor://anysphere.cursor/cb', 'cursor:'],
    [`https://evil.example/;script-src *`, 'https://evil.example'],
  ])('allows a form to redirect to %s', (address, source) => {
    const r = page(site, request(), { title: 'T', body: html``, formTargets: [address] });
    expect(r.headers.get('content-security-policy')).toContain(`form-action 'self' ${source}; base-uri`);
  });

  it('redirects with 303 after a form', () => {
    const r = seeOther('/a', {}, ['a=1', 'b=2']);
    expect([r.status, r.headers.get('location'), r.headers.getSetCookie()]).toEqual([303, '/a', ['a=1', 'b=2']]);
  });
});

describe('language', () => {
  it.each([
    [undefined, 'en'],
    ['de', 'de'],
    ['de-AT,en;q=0.9', 'de'],
    ['en,de', 'en'],
    ['fr,de;q=0.5,en;q=0.4', 'de'],
    ['de;q=0', 'en'],
    ['*', 'en'],
    ['de;q=banana', 'en'],
    ['__proto__,constructor', 'en'],
  ])('Accept-Language %s: %s', (header, wanted) => {
    expect(languageOf(request(header === undefined ? {} : { 'accept-language': header }))).toBe(wanted);
  });

  it('?lang= takes precedence and is kept in a cookie, and links keep the rest of the query', async () => {
    const asked = request(
      { 'accept-language': 'en', cookie: 'lang=en' },
      'https://legate.example/x?returnTo=%2Fa&lang=de',
    );
    expect(textsFor(asked)).toBe(de);
    const r = page(site, asked, { title: 'T', body: html`` });
    expect(r.headers.getSetCookie()).toEqual(['lang=de; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=31536000']);
    const text = await r.text();
    expect(text).toContain('<html lang="de">');
    expect(text).toContain('href="?returnTo=%2Fa&amp;lang=en"');
    expect(languageOf(request({ cookie: 'a=b; lang=de' }))).toBe('de');
    expect(languageOf(request({ cookie: 'lang=toString' }, 'https://legate.example/x?lang=xx'))).toBe('en');
  });

  it('translates every text in every language', () => {
    const leaves = (value: object, path = ''): [string, string][] =>
      Object.entries(value).flatMap(([key, item]) =>
        typeof item === 'object'
          ? leaves(item as object, `${path}.${key}`)
          : [[`${path}.${key}`, String(item)] as [string, string]],
      );
    const same = leaves(en).filter(([path, text]) => leaves(de).find(([other]) => other === path)?.[1] === text);
    expect(same).toEqual([
      ['.common.optional', 'optional'],
      ['.common.name', 'Name'],
      ['.devices.kinds.desktop', 'Computer'],
      ['.devices.kinds.tablet', 'Tablet'],
      ['.devices.kinds.unknown', ''],
      ['.passkeys.label', 'Passkeys'],
      ['.passkeys.title', 'Passkeys'],
      ['.tokens.token', 'Token'],
      ['.device.code', 'Code'],
      ['.approval.agent', 'Agent'],
    ]);
  });
});

describe('assertOwnForm', () => {
  const cases: [string, Record<string, string>, boolean][] = [
    ['same origin', { 'sec-fetch-site': 'same-origin' }, true],
    ['an address that the person typed', { 'sec-fetch-site': 'none' }, true],
    ['Origin null of a page without referrer', { 'sec-fetch-site': 'same-origin', origin: 'null' }, true],
    ['only the own Origin', { origin: 'https://legate.example' }, true],
    ['a trusted origin', { 'sec-fetch-site': 'cross-site', origin: 'https://app.example' }, false],
    ['no header of a browser', {}, true],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, false],
    [
      'another origin of the same site',
      { 'sec-fetch-site': 'same-site', origin: 'https://blog.legate.example' },
      false,
    ],
    ['another site, old browser', { origin: 'https://evil.example' }, false],
    ['only Origin null', { origin: 'null' }, false],
    ['another site without Origin', { 'sec-fetch-site': 'cross-site' }, false],
    ['another port', { origin: 'https://legate.example:8443' }, false],
    ['another scheme', { origin: 'http://legate.example' }, false],
  ];
  it.each(cases)('%s', (_, headers, allowed) => {
    const check = (): void => assertOwnForm(site, request(headers));
    if (allowed) expect(check).not.toThrow();
    else expect(check).toThrow(LegateError);
  });
});

describe('safeReturnTo', () => {
  it.each([
    '/',
    '/a?b=c#d',
    '/api/legate/oauth/authorize?redirect_uri=https%3A%2F%2Fclient.example%2F',
    '/%2F%2Fevil.example',
  ])('keeps %s', (path) => {
    expect(safeReturnTo(site, path)).toBe(path);
  });
  it.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    'javascript:alert(1)',
    ' //evil.example',
    'a',
    '',
    undefined,
  ])('refuses %j', (path) => {
    expect(safeReturnTo(site, path)).toBeUndefined();
  });

  it('refuses an overlong value', () => {
    expect(safeReturnTo(site, '/'.padEnd(8192, 'a'))).toHaveLength(8192);
    expect(safeReturnTo(site, '/'.padEnd(8193, 'a'))).toBeUndefined();
  });

  it('the sign-in page returns to the requested page, below the mount', () => {
    const mounted: Site = { ...site, config: { ...site.config, http: { restPath: '/auth', trustedOrigins: [] } } };
    expect(signInLocation(mounted, new URL('https://legate.example/auth/account/devices?a=1&b=2'))).toBe(
      '/auth/account/sign-in?returnTo=%2Fauth%2Faccount%2Fdevices%3Fa%3D1%26b%3D2',
    );
  });
});

describe('errorPage', () => {
  const error = (
    code: string,
    status: number,
    o: { details?: Record<string, unknown>; headers?: Record<string, string> } = {},
  ): LegateError => new LegateError({ code, status, message: 'English.' }, o);

  it.each([
    [error('NOT_FOUND', 404), 404, 'Diese Seite gibt es nicht'],
    [error('RATE_LIMIT_EXCEEDED', 429, { headers: { 'retry-after': '42' } }), 429, 'Bitte warten Sie 42 Sekunden'],
    [error('INTERNAL_ERROR', 500, { details: { id: 'req_1' } }), 500, 'req_1'],
    [error('SOMETHING_ELSE', 422), 422, 'English.'],
    [error('constructor', 422), 422, 'English.'],
  ])('%s', async (thrown, status, text) => {
    const r = errorPage(site, request({ 'accept-language': 'de' }), thrown);
    expect(r.status).toBe(status);
    expect(await r.text()).toContain(text);
    if (status === 429) expect(r.headers.get('retry-after')).toBe('42');
  });
});
