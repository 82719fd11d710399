import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RemoteOptions } from './guard-options.ts';
import { VerifierUnavailable } from './issuer-metadata.ts';
import { protectMcp } from './protect.ts';
import { verifierOf } from './verify-token.ts';

const AUDIENCE = 'https://mcp.example.com/mcp';
const server = { name: 'notes', endpoint: AUDIENCE };
const now = (): number => Math.floor(Date.now() / 1000);

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;
let ed: Keys;
let es: Keys;
let stranger: Keys;

/** The parts of an authorization server that a verifier uses. */
let http: Server;
let issuer: string;
let down: Set<string>;
let metadata: Record<string, unknown>;
let introspected: { authorization: string | undefined; body: string }[];
let introspection: Record<string, unknown>;
let asked: string[];

beforeAll(async () => {
  ed = await generateKeyPair('EdDSA', { extractable: true });
  es = await generateKeyPair('ES256', { extractable: true });
  stranger = await generateKeyPair('EdDSA');
  const keys = [
    { ...(await exportJWK(ed.publicKey)), kid: 'ed', alg: 'EdDSA', use: 'sig' },
    { ...(await exportJWK(es.publicKey)), kid: 'es', alg: 'ES256', use: 'sig' },
  ];
  http = createServer((req, res) => {
    const path = req.url ?? '';
    asked.push(path);
    let body = '';
    req.on('data', (chunk) => {
      body += chunk;
    });
    req.on('end', () => {
      if (path === '/introspect') introspected.push({ authorization: req.headers.authorization, body });
      const answers: Record<string, unknown> = {
        '/.well-known/oauth-authorization-server': metadata,
        '/jwks': { keys },
        '/introspect': introspection,
      };
      res
        .writeHead(down.has(path) ? 500 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify(answers[path] ?? {}));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => http.close(resolve)));
beforeEach(() => {
  down = new Set();
  asked = [];
  introspected = [];
  metadata = { issuer, jwks_uri: `${issuer}/jwks`, introspection_endpoint: `${issuer}/introspect` };
  introspection = {
    active: true,
    iss: issuer,
    aud: AUDIENCE,
    sub: 'agt_1',
    user_id: 'usr_1',
    client_id: 'cli_1',
    scope: 'mcp:read mcp:execute',
    exp: now() + 60,
  };
});

interface Wanted {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: Parameters<SignJWT['sign']>[0];
}
const sign = ({ claims = {}, header = {}, key = ed.privateKey }: Wanted = {}): Promise<string> =>
  new SignJWT({
    iss: issuer,
    aud: AUDIENCE,
    sub: 'agt_1',
    user_id: 'usr_1',
    client_id: 'cli_1',
    scope: 'mcp:read mcp:execute',
    iat: now(),
    exp: now() + 60,
    ...claims,
  })
    .setProtectedHeader({ alg: 'EdDSA', kid: 'ed', typ: 'at+jwt', ...header })
    .sign(key);
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('[RFC 9068 4] verification with the keys of the issuer', () => {
  const verify = (token: string, more: Partial<RemoteOptions> = {}) => verifierOf({ issuer, server, ...more })(token);

  it('returns the fields of specification 2.9', async () => {
    expect(await verify(await sign())).toEqual({
      valid: true,
      agentId: 'agt_1',
      userId: 'usr_1',
      clientId: 'cli_1',
      scopes: ['mcp:read', 'mcp:execute'],
      expiresAt: expect.any(Date),
    });
  });

  it.each<[string, () => Wanted]>([
    ['ES256 with its own key', () => ({ header: { alg: 'ES256', kid: 'es' }, key: es.privateKey })],
    ['application/at+jwt', () => ({ header: { typ: 'application/at+jwt' } })],
    ['several audiences', () => ({ claims: { aud: ['https://other.example', AUDIENCE] } })],
    ['a start that is a few seconds ahead', () => ({ claims: { nbf: now() + 3 } })],
  ])('accepts %s', async (_what, wanted) => {
    expect((await verify(await sign(wanted()))).valid).toBe(true);
  });

  it.each<[string, () => Promise<string> | string]>([
    [
      'alg none',
      () =>
        `${part({ alg: 'none', typ: 'at+jwt' })}.` +
        `${part({ iss: issuer, aud: AUDIENCE, sub: 'agt_1', exp: now() + 60 })}.`,
    ],
    [
      'HS256 with the public key as secret',
      async () =>
        sign({
          header: { alg: 'HS256' },
          key: new TextEncoder().encode(JSON.stringify(await exportJWK(ed.publicKey))),
        }),
    ],
    ["the other key's id", () => sign({ header: { kid: 'es' } })],
    ['a key that is not published', () => sign({ key: stranger.privateKey })],
    ['an unknown key id', () => sign({ header: { kid: 'x' } })],
    [
      'a key in the token itself',
      async () =>
        sign({ header: { kid: undefined, jwk: await exportJWK(stranger.publicKey) }, key: stranger.privateKey }),
    ],
    ['another type', () => sign({ header: { typ: 'JWT' } })],
    ['no type', () => sign({ header: { typ: undefined } })],
    ['another audience', () => sign({ claims: { aud: 'https://mcp.example.com/other' } })],
    ['the audience with a trailing slash', () => sign({ claims: { aud: `${AUDIENCE}/` } })],
    ['the audience in capitals', () => sign({ claims: { aud: 'https://MCP.example.com/mcp' } })],
    ['no audience', () => sign({ claims: { aud: undefined } })],
    ['another issuer', () => sign({ claims: { iss: 'https://evil.example' } })],
    ['the issuer with a trailing slash', () => sign({ claims: { iss: `${issuer}/` } })],
    ['an expiry in the past', () => sign({ claims: { exp: now() - 60 } })],
    ['no expiry', () => sign({ claims: { exp: undefined } })],
    ['a start in the future', () => sign({ claims: { nbf: now() + 600 } })],
    ['no subject', () => sign({ claims: { sub: undefined } })],
    [
      'a critical extension',
      () =>
        sign({ header: { crit: ['x'], x: 1 } }).catch(
          () => `${part({ alg: 'EdDSA', kid: 'ed', typ: 'at+jwt', crit: ['x'], x: 1 })}.${part({})}.AA`,
        ),
    ],
    [
      'a changed claim',
      async () =>
        (await sign()).replace(/\.[^.]+\./, `.${part({ iss: issuer, aud: AUDIENCE, sub: 'agt_2', exp: now() + 60 })}.`),
    ],
    ['a truncated signature', async () => (await sign()).slice(0, -8)],
    ['no token', () => ''],
    ['two parts', () => 'a.b'],
    ['five parts', () => 'a.b.c.d.e'],
    ['an agent token', () => 'lgt_x'],
    ['a very long text', () => 'x'.repeat(20_000)],
  ])('refuses %s', async (_what, make) => {
    expect(await verify(await make())).toEqual({ valid: false });
  });

  it('fetches metadata and keys once', async () => {
    const verifier = verifierOf({ issuer, server });
    for (let i = 0; i < 3; i++) expect((await verifier(await sign())).valid).toBe(true);
    expect(asked.sort()).toEqual(['/.well-known/oauth-authorization-server', '/jwks']);
  });

  it.each(['/.well-known/oauth-authorization-server', '/jwks'])(
    'reports that it cannot verify while %s fails, and recovers',
    async (path) => {
      const verifier = verifierOf({ issuer, server });
      down.add(path);
      await expect(verifier(await sign())).rejects.toThrow(VerifierUnavailable);
      const guarded = protectMcp(() => new Response('in'), { issuer, server });
      expect(
        (await guarded(new Request(AUDIENCE, { headers: { authorization: `Bearer ${await sign()}` } }))).status,
      ).toBe(503);
      down.clear();
      expect((await verifier(await sign())).valid).toBe(true);
    },
  );

  it('rejects metadata of another issuer and metadata without keys', async () => {
    metadata = { ...metadata, issuer: `${issuer}/` };
    await expect(verify(await sign())).rejects.toThrow('has the issuer');
    metadata = { issuer };
    await expect(verify(await sign())).rejects.toThrow('publishes no keys');
  });
});

describe('[RFC 7662 2] verification by introspection', () => {
  const verifier = (o: RemoteOptions['introspection'] = { token: 'lgk_x' }) =>
    verifierOf({ issuer, server, introspection: o });

  it('sends each request with the configured credential', async () => {
    const verify = verifier();
    expect(await verify('a.b.c')).toMatchObject({
      valid: true,
      agentId: 'agt_1',
      userId: 'usr_1',
      scopes: ['mcp:read', 'mcp:execute'],
    });
    introspection = { active: false };
    expect(await verify('a.b.c')).toEqual({ valid: false });
    expect(introspected[0]).toEqual({
      authorization: 'Bearer lgk_x',
      body: 'token=a.b.c&token_type_hint=access_token',
    });
    await verifier({ clientId: 'cli_1', clientSecret: 's:1' })('a.b.c');
    expect(introspected.at(-1)?.authorization).toBe(`Basic ${btoa('cli_1:s%3A1')}`);
  });

  it.each<[string, Record<string, unknown>]>([
    ['inactive', { active: false }],
    ['active as a text', { active: 'true' }],
    ['for another audience', { aud: 'https://mcp.example.com/other' }],
    ['without an audience', { aud: undefined }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['expired', { exp: 1 }],
    ['without an expiry', { exp: undefined }],
    ['without a subject', { sub: undefined }],
  ])('refuses a token that is %s', async (_what, change) => {
    introspection = { ...introspection, ...change };
    expect(await verifier()('a.b.c')).toEqual({ valid: false });
  });

  it('caches positive responses for the configured time, and never negative ones', async () => {
    const verify = verifier({ token: 'lgk_x', cacheSeconds: 60 });
    introspection['active'] = false;
    expect((await verify('a')).valid).toBe(false);
    introspection['active'] = true;
    expect((await verify('a')).valid).toBe(true);
    introspection['active'] = false;
    expect([(await verify('a')).valid, (await verify('b')).valid]).toEqual([true, false]);
    expect(introspected).toHaveLength(3);
  });

  it('reports that it cannot verify while the endpoint fails or does not exist', async () => {
    down.add('/introspect');
    await expect(verifier()('a')).rejects.toThrow(VerifierUnavailable);
    metadata = { issuer };
    await expect(verifier()('a')).rejects.toThrow('has no introspection_endpoint');
  });
});

describe('a guard elsewhere whose own configuration is wrong', () => {
  const asking = (options: Partial<RemoteOptions>) =>
    protectMcp(() => new Response('reached'), { issuer, server, ...options })(
      new Request(AUDIENCE, { method: 'POST', headers: { authorization: 'Bearer a' }, body: '{}' }),
    );

  it.each<[string, unknown]>([
    ['introspection needs a token', { introspection: { token: undefined } }],
    ['introspection needs a token', { introspection: { clientId: 'cli_1', clientSecret: '' } }],
    ['decisions.token is missing', { decisions: { url: 'https://legate.example.com', token: undefined } }],
  ])('says so when it is made, for a variable that is not set: %s', async (message, options) => {
    await expect((async () => asking(options as Partial<RemoteOptions>))()).rejects.toThrow(`protectMcp: ${message}`);
  });

  it('answers 503 and warns with what the issuer answered, once for many requests', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const error = { code: 'FORBIDDEN', message: 'This needs an administrator.' };
    const introspect = { introspection: { token: 'lgk_x' } };
    for (const [path, body] of [
      ['/introspect', { error }],
      ['/other', { error: 'invalid_client', error_description: 'Unknown.' }],
    ] as const) {
      metadata['introspection_endpoint'] = issuer + path;
      const fetch: RemoteOptions['fetch'] = async (input, init) =>
        String(input).endsWith(path) ? Response.json(body, { status: 403 }) : globalThis.fetch(input, init);
      const statuses = [asking({ ...introspect, fetch }), asking({ ...introspect, fetch })];
      expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([503, 503]);
    }
    expect(warn.mock.calls).toEqual([
      [
        `protectMcp: ${issuer}/introspect cannot be asked: it answered 403, FORBIDDEN: This needs an administrator.`,
        'LegateWarning',
      ],
      [`protectMcp: ${issuer}/other cannot be asked: it answered 403, invalid_client: Unknown.`, 'LegateWarning'],
    ]);
    warn.mockRestore();
  });
});
