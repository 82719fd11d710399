import { beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { listen } from '../../src/http/node.ts';
import { distinctRoutes } from '../support/endpoints.ts';
import { type Answered, createTestService, type TestService } from '../support/service.ts';

const OWN = 'http://localhost:3000';
const EVIL = 'https://evil.example';
const password = 'correct horse battery';
const email = 'ada@example.com';

const { values } = readConfig({ code: {}, env: {}, production: false, readFile: () => '' });
const unsafe = distinctRoutes(values).filter(({ route }) => route.method !== 'GET');
const name = ({ route, path }: (typeof unsafe)[number]): string => `${route.method} ${path}`;
/** A path of the route whose ids belong to no object. */
const addressOf = (path: string): string => path.replace(/:\w+(\{[^}]*\})?/g, 'none_00000000000000000000000000');

let t: TestService;
let cookie: string;
let token: string;
beforeAll(async () => {
  t = await createTestService({
    lasting: true,
    config: { http: { trustedOrigins: ['https://console.example'], basePath: '/api/legate' } },
  });
  const r = await t.call('POST', '/sign-up', { body: { email, password } });
  token = r.body.token;
  cookie = `${t.database.name}_session=${token}`;
});
const byCookie = (method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Answered> =>
  t.call(method, path, { headers: { cookie, ...headers }, ...(body === undefined ? {} : { body }) });
const isCrossSite = (r: Answered): boolean => r.status === 403 && /allowed origin|another site/.test(r.text);

/** The headers by which a browser states the origin of a request, and whether the origin counts as trusted. */
const places: [string, Record<string, string>, boolean][] = [
  ['the own origin', { origin: OWN }, true],
  ['the own origin, by fetch', { origin: OWN, 'sec-fetch-site': 'same-origin' }, true],
  ['a trusted origin', { origin: 'https://console.example', 'sec-fetch-site': 'cross-site' }, true],
  ['another origin', { origin: EVIL }, false],
  ['another origin that claims to be the same', { origin: EVIL, 'sec-fetch-site': 'same-origin' }, false],
  ['another origin with the own Referer', { origin: EVIL, referer: `${OWN}/account` }, false],
  ['another scheme', { origin: 'https://localhost:3000' }, false],
  ['another port', { origin: 'http://localhost:3001' }, false],
  ['no port', { origin: 'http://localhost' }, false],
  ['a name that begins like the own one', { origin: `${OWN}.evil.example` }, false],
  ['a name that ends like a trusted one', { origin: 'https://evil-console.example' }, false],
  ['a path after the origin', { origin: `${OWN}/` }, false],
  ['capitals', { origin: 'HTTP://LOCALHOST:3000' }, false],
  ['two origins', { origin: `${EVIL} ${OWN}` }, false],
  ['an empty origin', { origin: '' }, false],
  ['null, and the same origin', { origin: 'null', 'sec-fetch-site': 'same-origin' }, true],
  ['null, and a sandboxed frame', { origin: 'null', 'sec-fetch-site': 'cross-site' }, false],
  ['null, and another origin of the same site', { origin: 'null', 'sec-fetch-site': 'same-site' }, false],
  ['null, and the own Referer', { origin: 'null', referer: `${OWN}/account` }, false],
  ['only null', { origin: 'null' }, false],
  ['no origin, the same origin', { 'sec-fetch-site': 'same-origin' }, true],
  ['no origin, another origin of the same site', { 'sec-fetch-site': 'same-site' }, false],
  ['no origin, another site', { 'sec-fetch-site': 'cross-site', referer: `${OWN}/` }, false],
  ['no origin, an address that the person typed', { 'sec-fetch-site': 'none' }, false],
  ['only the own Referer', { referer: `${OWN}/account?x=1` }, true],
  ['only a Referer of a trusted origin', { referer: 'https://console.example/page' }, true],
  ['a Referer of another origin', { referer: `${EVIL}/?${OWN}` }, false],
  ['a Referer that only resembles the own one', { referer: `${OWN}@evil.example/` }, false],
  ['an invalid Referer', { referer: 'localhost:3000' }, false],
  ['nothing', {}, false],
];

describe('a change by cookie', () => {
  it.each(places)('is accepted only from trusted origins: %s', async (_, headers, allowed) => {
    const r = await byCookie('PATCH', '/agents/agt_00000000000000000000000000', headers, {});
    expect([isCrossSite(r), r.status]).toEqual(allowed ? [false, 404] : [true, 403]);
  });

  it.each(unsafe.filter(({ route }) => route.access !== 'public').map((m) => [name(m), m] as const))(
    'to %s is refused from another site, regardless of its headers',
    async (_, { route, path }) => {
      for (const headers of [{ origin: EVIL }, { origin: 'null' }, {}])
        expect(isCrossSite(await byCookie(route.method, addressOf(path), headers, {}))).toBe(true);
      expect(
        isCrossSite(
          await byCookie(
            route.method,
            addressOf(path),
            { origin: OWN, 'sec-fetch-site': 'same-origin' },
            // Only the valid request to sign out may have an effect.
            path.startsWith('/sign-out') ? {} : { none: 1 },
          ),
        ),
      ).toBe(false);
      // The session still exists.
      expect((await byCookie('GET', '/auth/session', {})).status).toBe(path.startsWith('/sign-out') ? 401 : 200);
      if (path.startsWith('/sign-out')) {
        token = (await t.call('POST', '/sign-in', { body: { email, password } })).body.token;
        cookie = `${t.database.name}_session=${token}`;
      }
    },
  );

  it('with a Bearer token is accepted from any origin, even if a cookie is sent with it', async () => {
    for (const headers of [{}, { cookie }, { cookie, origin: EVIL }])
      expect((await t.call('DELETE', '/agents/agt_x', { as: token, headers })).status).toBe(404);
  });

  it('reading by cookie is accepted from any origin, but no response lets another site read it', async () => {
    for (const path of ['/auth/session', '/auth/sessions', '/agents', '/api-tokens']) {
      const r = await byCookie('GET', path, { origin: EVIL, 'sec-fetch-site': 'cross-site' });
      expect([
        r.status,
        r.headers.get('access-control-allow-origin'),
        r.headers.get('access-control-allow-credentials'),
      ]).toEqual([200, null, null]);
      const preflight = await byCookie('OPTIONS', path, { origin: EVIL, 'access-control-request-method': 'DELETE' });
      expect([
        preflight.headers.get('access-control-allow-origin'),
        preflight.headers.get('access-control-allow-methods'),
      ]).toEqual([null, null]);
    }
  });
});

describe('a page of a trusted origin (CORS)', () => {
  const TRUSTED = 'https://console.example';
  const readable = (r: Answered): (string | null)[] =>
    ['allow-origin', 'allow-credentials'].map((field) => r.headers.get(`access-control-${field}`));
  const asks = (method: string, origin = TRUSTED) => ({
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type',
  });

  it('may send a preflight request, and gets the allowed headers', async () => {
    for (const [path, methods] of [
      ['/agents', 'POST, GET, HEAD'],
      ['/agents/agt_x', 'GET, PATCH, DELETE, HEAD'],
      ['/auth/sessions/ses_x', 'DELETE'],
    ] as const) {
      const r = await t.call('OPTIONS', path, { headers: asks('POST') });
      expect([r.status, r.text, ...readable(r), r.headers.get('access-control-allow-methods')]).toEqual([
        204,
        '',
        TRUSTED,
        'true',
        methods,
      ]);
      expect(r.headers.get('access-control-allow-headers')).toContain('Content-Type');
      expect(r.headers.get('vary')).toContain('Origin');
    }
    for (const origin of [EVIL, 'null', `${TRUSTED}.evil.example`, `${TRUSTED}/`]) {
      const refused = await t.call('OPTIONS', '/agents', { headers: asks('POST', origin) });
      expect([refused.status, ...readable(refused)], origin).toEqual([405, null, null]);
    }
  });

  it('can read every response, with the cookie: success, refusal and 404', async () => {
    const headers = { origin: TRUSTED, 'sec-fetch-site': 'same-site' };
    const answers = [
      await byCookie('GET', '/auth/sessions', headers),
      await byCookie('POST', '/agents', headers, { ownerId: 'me' }),
      await byCookie('PUT', '/agents', headers),
      await byCookie('GET', '/nothing', headers),
      await t.call('GET', '/agents', { headers }),
      await t.call('POST', '/sign-in', { headers, body: { email, password } }),
    ];
    expect(answers.map((r) => r.status)).toEqual([200, 400, 405, 404, 401, 200]);
    for (const r of answers) {
      expect(readable(r)).toEqual([TRUSTED, 'true']);
      expect(r.headers.get('vary')).toContain('Origin');
    }
    const exposed = answers[0]?.headers.get('access-control-expose-headers')?.split(', ');
    for (const name of ['Link', 'ETag', 'Allow', 'Idempotent-Replayed', 'Legate-Warning', 'Retry-After'])
      expect(exposed).toContain(name);
  });

  it('gets its own origin in the header even if all are allowed, because its browser requires that', async () => {
    const path = '/.well-known/oauth-authorization-server';
    expect(readable(await t.call('GET', path, { headers: { origin: TRUSTED } }))).toEqual([TRUSTED, 'true']);
    const other = await t.call('GET', path, { headers: { origin: EVIL } });
    expect([...readable(other), other.headers.get('vary')]).toEqual(['*', null, 'Origin']);
  });

  it('cannot read the pages of the service', async () => {
    for (const path of [
      '/account/devices',
      '/account/apps',
      '/account/sign-in',
      '/oauth/authorize',
      '/oauth/authorize/consent',
    ]) {
      expect(readable(await byCookie('GET', path, { origin: TRUSTED })), path).toEqual([null, null]);
      expect(readable(await t.call('OPTIONS', path, { headers: asks('POST') })), path).toEqual([null, null]);
    }
  });

  it.each(['*', `${TRUSTED}/`, `${TRUSTED}/page`, 'HTTPS://console.example', 'console.example', 'null'])(
    'cannot be configured as %s',
    async (origin) => {
      await expect(createTestService({ config: { http: { trustedOrigins: [TRUSTED, origin] } } })).rejects.toThrow(
        /http\.trustedOrigins.*must be an origin such as/,
      );
    },
  );

  it.each(['foo', '10.0.0.0/99', '127.1', '10.0.0.0/8/8', '', '::1/129'])(
    'a proxy must be an address or a CIDR range, not %j',
    async (proxy) => {
      await expect(
        createTestService({ config: { http: { trustedProxies: ['10.0.0.1', '::1', 'fd00::/8', proxy] } } }),
      ).rejects.toThrow(/http\.trustedProxies.*must be an address or a CIDR range/);
    },
  );

  it.each(['foo bar', 'javascript:alert(1)', '//evil.example', 'ftp://x.example', ''])(
    'a login or consent page must be a path or an address, not %j',
    async (page) => {
      for (const name of ['loginPage', 'consentPage'])
        await expect(createTestService({ config: { mcp: { [name]: page } } as never })).rejects.toThrow(
          new RegExp(`mcp\\.${name}.*must be a path`),
        );
    },
  );

  it('is accepted over a socket too, where some routes have a fast path', async () => {
    const server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
    const as = { authorization: `Bearer ${token}`, origin: TRUSTED };
    const question = {
      method: 'POST',
      headers: { ...as, 'content-type': 'application/json' },
      body: '{"agentId":"agt_x","action":"a","resource":"b"}',
    };
    const answers = [
      await fetch(`http://127.0.0.1:${server.port}/authorize`, question),
      await fetch(`http://127.0.0.1:${server.port}/auth/session`, { headers: as }),
    ];
    expect(answers.map((r) => [r.status, r.headers.get('access-control-allow-origin')])).toEqual([
      [404, TRUSTED],
      [200, TRUSTED],
    ]);
    for (const r of answers) await r.text();
    await server.stop(1000);
  });
});

describe('signing somebody in from another site (login CSRF)', () => {
  /** Everything that a page of another site can send without a preflight request. */
  const forms: [string, string][] = [
    [
      'application/x-www-form-urlencoded',
      `email=${encodeURIComponent(email)}&password=${encodeURIComponent(password)}`,
    ],
    ['text/plain', `{"email":"${email}","password":"${password}","x":"="}`],
    [
      'multipart/form-data; boundary=x',
      `--x\r\nContent-Disposition: form-data; name="email"\r\n\r\n${email}\r\n--x--\r\n`,
    ],
  ];
  const open = unsafe.filter(({ route }) => route.access === 'public' && (route.body !== undefined || route.form));
  it.each(open.map((m) => [name(m), m] as const))('%s sets no session cookie', async (_, { route, path }) => {
    for (const [type, raw] of forms) {
      const r = await t.call(route.method, addressOf(path), {
        raw,
        headers: { 'content-type': type, origin: EVIL, 'sec-fetch-site': 'cross-site' },
      });
      expect(r.headers.getSetCookie().filter((c) => c.includes('_session=') && !c.includes('_session=;'))).toEqual([]);
      expect(r.status, type).toBeGreaterThanOrEqual(400);
    }
  });
});

describe('an earlier session cookie (session fixation)', () => {
  it('is never the one that a sign-in creates, and does not become valid by it', async () => {
    const planted = (await t.call('POST', '/sign-up', { body: { email: 'mallory@example.com', password } })).body;
    const ways: [string, unknown][] = [
      ['/sign-in', { email, password }],
      ['/sign-up', { email: 'fresh@example.com', password }],
    ];
    for (const [path, body] of ways) {
      const r = await t.call('POST', path, {
        body,
        headers: { cookie: `${t.database.name}_session=${planted.token}`, origin: OWN },
      });
      expect(r.status).toBe(200);
      expect(r.body.token).not.toBe(planted.token);
      expect(r.headers.get('set-cookie')).toContain(`_session=${r.body.token};`);
      expect((await t.call('GET', '/auth/session', { as: planted.token })).body.user.email).toBe('mallory@example.com');
    }
  });

  it('has no effect if it is invented, before and after sign-in', async () => {
    const made = `lgs_${'A'.repeat(43)}000000`;
    await t.call('POST', '/sign-in', {
      body: { email, password },
      headers: { cookie: `${t.database.name}_session=${made}`, origin: OWN },
    });
    expect((await t.call('GET', '/auth/session', { as: made })).status).toBe(401);
  });
});

describe('the cookie on https', () => {
  it('is __Host-, Secure, HttpOnly, SameSite=Lax, for this host only; one without the prefix is ignored', async () => {
    const https = await createTestService({ config: { baseUrl: 'https://id.example' } });
    const r = await https.call('POST', '/sign-up', { body: { email, password } });
    expect(r.headers.getSetCookie()).toEqual([
      `__Host-${https.database.name}_session=${r.body.token}; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=2592000`,
      expect.stringMatching(
        new RegExp(
          `^__Host-${https.database.name}_known_device=[^;]+; Path=/; HttpOnly; SameSite=Lax; Secure; ` +
            `Max-Age=15552000$`,
        ),
      ),
    ]);
    const asked = (cookie: string) => https.call('GET', '/auth/session', { headers: { cookie } });
    expect((await asked(`__Host-${https.database.name}_session=${r.body.token}`)).status).toBe(200);
    expect((await asked(`${https.database.name}_session=${r.body.token}`)).status).toBe(401);
    const from = (origin: string) =>
      https.call('DELETE', '/auth/sessions', {
        headers: { cookie: `__Host-${https.database.name}_session=${r.body.token}`, origin },
      });
    expect([(await from('http://id.example')).status, (await from('https://id.example')).status]).toEqual([403, 200]);
    // The cookie ends with the browser session if the person did not ask to be remembered.
    const brief = await https.call('POST', '/sign-in', { body: { email, password, rememberMe: false } });
    expect(brief.headers.getSetCookie()).toEqual([
      `__Host-${https.database.name}_session=${brief.body.token}; Path=/; HttpOnly; SameSite=Lax; Secure`,
    ]);
  });
});
