import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { claimsOf, type Person, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, dialect, type Json, type TestService } from '../../../test/support/service.ts';

const SECRET = 'a signing secret of enough characters';
const ISSUER = 'http://localhost:3000';

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const hmac = (input: string, key: string | Buffer = SECRET): string =>
  createHmac('sha256', key).update(input).digest('base64url');
const headerOf = (token: string): Json => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());

let t: TestService;
let person: Person;
let good: string;
let header: Json;
let claims: Json;
beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { mcp: { signingSecret: SECRET } } });
  person = await signUp(t);
  good = (await tokens(t, person, await register(t), { scope: 'agents:read' })).access_token;
  header = headerOf(good);
  claims = claimsOf(good);
});
/** The key is the real one, so a refusal is due to header or claims. */
const signed = (h: unknown, c: unknown): string => {
  const input = `${part(h)}.${part(c)}`;
  return `${input}.${hmac(input)}`;
};
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

describe('an access token', () => {
  it('[RFC 7515 3; RFC 7518 3.2] another library verifies HS256 access tokens with the configured secret', async () => {
    expect(signed(header, claims)).toBe(good);
    const { payload } = await jwtVerify(good, new TextEncoder().encode(SECRET), {
      algorithms: ['HS256'],
      typ: 'at+jwt',
      issuer: ISSUER,
      audience: ISSUER,
      currentDate: new Date(t.clock.now()),
    });
    expect(payload.sub).toBe(claims.sub);
    expect((await t.call('GET', '/agents', { as: good })).status).toBe(200);
  });

  it('[RFC 9068 2.1] an access token may be of type application/at+jwt', async () => {
    expect(
      (await t.call('GET', '/agents', { as: signed({ ...header, typ: 'application/at+jwt' }, claims) })).status,
    ).toBe(200);
  });

  it.each<[string, () => string]>([
    ['alg none', () => `${part({ ...header, alg: 'none' })}.${part(claims)}.`],
    ['alg none with a signature', () => signed({ ...header, alg: 'none' }, claims)],
    ['alg None', () => signed({ ...header, alg: 'None' }, claims)],
    ['alg nOnE', () => signed({ ...header, alg: 'nOnE' }, claims)],
    ['alg hs256', () => signed({ ...header, alg: 'hs256' }, claims)],
    ['alg HS512 over an HS256 signature', () => signed({ ...header, alg: 'HS512' }, claims)],
    ['alg as an array', () => signed({ ...header, alg: ['HS256'] }, claims)],
    ['no alg', () => signed({ ...header, alg: undefined }, claims)],
    [
      'RS256 with its own key',
      () => {
        const jwk = rsa.publicKey.export({ format: 'jwk' });
        const input = `${part({ ...header, alg: 'RS256', jwk })}.${part(claims)}`;
        return `${input}.${signWith('sha256', Buffer.from(input), rsa.privateKey).toString('base64url')}`;
      },
    ],
    [
      'another secret',
      () => {
        const input = `${part(header)}.${part(claims)}`;
        return `${input}.${hmac(input, 'another secret')}`;
      },
    ],
    [
      'an empty secret',
      () => {
        const input = `${part(header)}.${part(claims)}`;
        return `${input}.${hmac(input, '')}`;
      },
    ],
    ['no signature', () => `${part(header)}.${part(claims)}.`],
    ['two parts', () => good.split('.').slice(0, 2).join('.')],
    ['four parts', () => `${good}.x`],
    ['no kid', () => signed({ ...header, kid: undefined }, claims)],
    ['another kid', () => signed({ ...header, kid: 'x' }, claims)],
    ['a kid that is a path', () => signed({ ...header, kid: '../../../dev/null' }, claims)],
    ['a kid that is SQL', () => signed({ ...header, kid: "' or 1=1 --" }, claims)],
    ['a kid that is an array', () => signed({ ...header, kid: [header.kid] }, claims)],
    ['a kid named __proto__', () => signed({ ...header, kid: '__proto__' }, claims)],
    ['jku, and no kid', () => signed({ alg: 'HS256', typ: 'at+jwt', jku: 'https://evil.example/jwks' }, claims)],
    ['crit', () => signed({ ...header, crit: ['exp'] }, claims)],
    ['an unknown crit', () => signed({ ...header, crit: ['x'], x: 1 }, claims)],
    ['type JWT', () => signed({ ...header, typ: 'JWT' }, claims)],
    ['type AT+JWT of another case', () => signed({ ...header, typ: 'at+jwt ' }, claims)],
    ['no type', () => signed({ ...header, typ: undefined }, claims)],
    ['another issuer', () => signed(header, { ...claims, iss: 'https://evil.example' })],
    ['the issuer with a trailing slash', () => signed(header, { ...claims, iss: `${ISSUER}/` })],
    ['another audience', () => signed(header, { ...claims, aud: 'https://elsewhere.example' })],
    ['a list of audiences', () => signed(header, { ...claims, aud: [ISSUER, 'https://elsewhere.example'] })],
    ['no audience', () => signed(header, { ...claims, aud: undefined })],
    ['an expiry in the past', () => signed(header, { ...claims, exp: Math.floor(t.clock.now() / 1000) })],
    ['exp as text', () => signed(header, { ...claims, exp: String(claims.exp) })],
    ['exp as null', () => signed(header, { ...claims, exp: null })],
    ['no exp', () => signed(header, { ...claims, exp: undefined })],
    ['another agent', () => signed(header, { ...claims, sub: 'agt_00000000000000000000000000' })],
    ['another client', () => signed(header, { ...claims, client_id: 'cli_00000000000000000000000000' })],
    ['an unknown grant', () => signed(header, { ...claims, jti: 'grt_00000000000000000000000000.x' })],
    ['no jti', () => signed(header, { ...claims, jti: undefined })],
    ['claims that are an array', () => signed(header, [claims])],
    ['claims that are not JSON', () => signed(header, 'x')],
    ['claims that are null', () => signed(header, null)],
    ['a changed claim', () => good.replace(/\.[^.]+\./, `.${part({ ...claims, scope: 'agents:write' })}.`)],
    ['a changed last character', () => good.slice(0, -1) + (good.endsWith('A') ? 'B' : 'A')],
    [
      'the unused bits of base64url set',
      () => {
        const last = good.slice(-1);
        const abc = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
        return good.slice(0, -1) + abc[abc.indexOf(last) ^ 1];
      },
    ],
    ['padding', () => `${good}=`],
    ['base64 instead of base64url', () => `${good.replaceAll('-', '+').replaceAll('_', '/')}+`],
    ['additional bytes at the end', () => `${good}AAAA`],
    ['a space inside', () => good.replace('.', '. ')],
    ['a megabyte', () => `${good}${'A'.repeat(1_000_000)}`],
    ['nothing', () => ''],
  ])('[RFC 8725 3.1, 3.8 and 3.11; RFC 9068 4] an access token is refused with %s', async (_what, make) => {
    const token = make();
    expect((await t.legate.mcp.validateToken(token)).valid).toBe(false);
    const r = await t.call('GET', '/agents', { headers: { authorization: `Bearer ${token}` } });
    expect(r.status).toBe(401);
    expect(r.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect((await t.call('GET', '/agents', { as: good })).status).toBe(200);
  });

  it('[RFC 8725 3.11] agent, session and API tokens are not valid as access tokens', async () => {
    const user = await t.user();
    for (const token of [(await t.agent(user)).token, person.token, user.token])
      expect((await t.legate.mcp.validateToken(token)).valid).toBe(false);
  });

  it('[RFC 9700 4.3.2] an access token in the query is ignored', async () => {
    expect((await t.call('GET', `/agents?access_token=${good}`)).status).toBe(401);
  });
});

describe.each(['EdDSA', 'ES256'] as const)('mcp.signing %s', (alg) => {
  const serviceWith = (more: Json = {}) =>
    createTestService({ config: { mcp: { signing: alg, signingSecret: SECRET, ...more } } });

  it('[RFC 7517 5; RFC 8414 2] the keys at jwks_uri verify access tokens', async () => {
    const own = await serviceWith();
    const { access_token } = await tokens(own, await signUp(own), await register(own), { scope: 'agents:read' });
    const { jwks_uri } = (await own.call('GET', '/.well-known/oauth-authorization-server')).body;
    const r = await own.call('GET', new URL(jwks_uri).pathname);
    expect(r.status).toBe(200);
    expect(r.headers.get('access-control-allow-origin')).toBe('*');
    expect(r.body.keys).toHaveLength(1);
    expect(r.body.keys[0]).toMatchObject({ alg, use: 'sig', kid: headerOf(access_token).kid });
    for (const secretPart of ['d', 'k', 'p', 'q']) expect(r.body.keys[0]).not.toHaveProperty(secretPart);
    const { payload } = await jwtVerify(access_token, createLocalJWKSet(r.body), {
      algorithms: [alg],
      typ: 'at+jwt',
      issuer: ISSUER,
      audience: ISSUER,
      currentDate: new Date(own.clock.now()),
    });
    expect(payload['scope']).toBe('agents:read');
    expect((await own.call('GET', '/agents', { as: access_token })).status).toBe(200);
  });

  it('[RFC 8725 2.1 and 3.1] a token signed as HS256 with the public key or the secret is refused', async () => {
    const own = await serviceWith();
    const { access_token } = await tokens(own, await signUp(own), await register(own));
    const { keys } = (await own.call('GET', '/oauth/jwks')).body;
    const h = part({ ...headerOf(access_token), alg: 'HS256' });
    const c = access_token.split('.')[1];
    for (const key of [JSON.stringify(keys[0]), Buffer.from(keys[0].x, 'base64url'), SECRET])
      expect((await own.legate.mcp.validateToken(`${h}.${c}.${hmac(`${h}.${c}`, key)}`)).valid).toBe(false);
    expect((await own.legate.mcp.validateToken(`${access_token.slice(0, -20)}${'A'.repeat(20)}`)).valid).toBe(false);
    expect((await own.legate.mcp.validateToken(access_token)).valid).toBe(true);
  });
});

describe('keys of the data folder', () => {
  it.each(['HS256', 'EdDSA'] as const)(
    '[ASVS 5.0 11.2; RFC 7517 4.5] %s: the newest key signs, and earlier keys still verify',
    async (signing) => {
      const key = (id: string): Json => ({
        id,
        key: Buffer.alloc(32, id).toString('base64url'),
        createdAt: '2030-01-01T00:00:00.000Z',
      });
      const start = (ids: string[], sameDatabaseAs?: TestService): Promise<TestService> =>
        createTestService({
          config: { mcp: { signing } },
          secrets: { signing: ids.map(key), cookie: [key('c')], pepper: [key('p')] },
          ...(sameDatabaseAs ? { sameDatabaseAs } : {}),
        });
      const before = await start(['old']);
      const { access_token } = await tokens(before, await signUp(before), await register(before));
      expect(headerOf(access_token).kid).toBe('old');
      const after = await start(['new', 'old'], before);
      expect((await after.legate.mcp.validateToken(access_token)).valid).toBe(true);
      expect(headerOf((await tokens(after, await signUp(after), await register(after))).access_token).kid).toBe('new');
      expect((await after.call('GET', '/oauth/jwks')).body.keys.map((k: Json) => k.kid)).toEqual(
        signing === 'EdDSA' ? ['new', 'old'] : [],
      );
      if (dialect === 'postgres') {
        // Instances with different keys do not start.
        await expect(start(['new'], before)).rejects.toThrow('lacks keys that other instances have used');
        return;
      }
      const later = await start(['new'], before);
      expect((await later.legate.mcp.validateToken(access_token)).valid).toBe(false);
    },
  );
});
