import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  CALLBACK,
  CHALLENGE,
  type Deployment,
  deployment,
  examined,
  fetchOf,
  ISSUER,
  json,
  outcomes,
  PRM,
  person,
  type Reply,
  SERVER,
} from '../../../test/support/doctor.ts';
import { renderStep, STEPS, type StepName, type StepReport } from './report.ts';

type Mutant = [what: string, step: StepName, field: string, change: (w: Deployment) => void];

const set = (reply: Reply, changes: Record<string, unknown>): void => {
  reply.body = JSON.parse(JSON.stringify({ ...(reply.body as object), ...changes })) as unknown;
};

const gone = undefined;

const mutants: readonly Mutant[] = [
  ['answers without a token', 'reach', 'status', (w) => Object.assign(w.refusal, { status: 200 })],
  ['refuses with 403', 'reach', 'status', (w) => Object.assign(w.refusal, { status: 403 })],
  ['answers 500', 'reach', 'status', (w) => Object.assign(w.refusal, { status: 500 })],
  ['is not there', 'reach', 'connection', (w) => w.dead.push(SERVER)],
  ['no challenge', 'challenge', 'WWW-Authenticate', (w) => delete w.refusal.headers['www-authenticate']],
  [
    'Basic only',
    'challenge',
    'WWW-Authenticate',
    (w) => Object.assign(w.refusal.headers, { 'www-authenticate': 'Basic realm="x"' }),
  ],
  [
    'Bearer after Basic',
    'challenge',
    'WWW-Authenticate',
    (w) => Object.assign(w.refusal.headers, { 'www-authenticate': `Basic realm="x", ${CHALLENGE}` }),
  ],
  [
    'no resource_metadata',
    'challenge',
    'resource_metadata',
    (w) => Object.assign(w.refusal.headers, { 'www-authenticate': 'Bearer scope="mcp:read"' }),
  ],
  [
    'relative resource_metadata',
    'challenge',
    'resource_metadata',
    (w) => Object.assign(w.refusal.headers, { 'www-authenticate': 'Bearer resource_metadata="/.well-known/x"' }),
  ],
  [
    'resource_metadata without quotes',
    'challenge',
    'resource_metadata',
    (w) => Object.assign(w.refusal.headers, { 'www-authenticate': `Bearer resource_metadata=${PRM}` }),
  ],
  ['no metadata there', 'resource metadata', 'status', (w) => Object.assign(w.prm, { status: 404 })],
  [
    'metadata redirects',
    'resource metadata',
    'status',
    (w) => Object.assign(w.prm, { status: 302, headers: { location: '/' } }),
  ],
  [
    'metadata is a page',
    'resource metadata',
    'content-type',
    (w) => Object.assign(w.prm, { headers: { 'content-type': 'text/html' }, body: '<html>' }),
  ],
  ['metadata is a list', 'resource metadata', 'content-type', (w) => Object.assign(w.prm, { body: [] })],
  ['a slash more in resource', 'resource metadata', 'resource', (w) => set(w.prm, { resource: `${SERVER}/` })],
  ['another resource', 'resource metadata', 'resource', (w) => set(w.prm, { resource: 'https://mcp.example.com' })],
  ['no resource', 'resource metadata', 'resource', (w) => set(w.prm, { resource: gone })],
  [
    'no authorization server',
    'resource metadata',
    'authorization_servers',
    (w) => set(w.prm, { authorization_servers: gone }),
  ],
  [
    'an empty list of authorization servers',
    'resource metadata',
    'authorization_servers',
    (w) => set(w.prm, { authorization_servers: [] }),
  ],
  [
    'an authorization server over http',
    'resource metadata',
    'authorization_servers',
    (w) => set(w.prm, { authorization_servers: ['http://auth.example.com'] }),
  ],
  [
    'tokens not in the header',
    'resource metadata',
    'bearer_methods_supported',
    (w) => set(w.prm, { bearer_methods_supported: ['query'] }),
  ],
  ['scopes as a text', 'resource metadata', 'scopes_supported', (w) => set(w.prm, { scopes_supported: 'mcp:read' })],
  ['no issuer metadata', 'issuer metadata', 'status', (w) => Object.assign(w.issuer, { status: 404 })],
  ['issuer metadata fails', 'issuer metadata', 'status', (w) => Object.assign(w.issuer, { status: 500 })],
  ['issuer metadata is a page', 'issuer metadata', 'content-type', (w) => Object.assign(w.issuer, { body: '<html>' })],
  [
    'the issuer is not there',
    'issuer metadata',
    'connection',
    (w) => w.dead.push(`${ISSUER}/.well-known/oauth-authorization-server`),
  ],
  ['a slash more in issuer', 'issuer metadata', 'issuer', (w) => set(w.issuer, { issuer: `${ISSUER}/` })],
  ['no issuer', 'issuer metadata', 'issuer', (w) => set(w.issuer, { issuer: gone })],
  [
    'no authorization_endpoint',
    'issuer metadata',
    'authorization_endpoint',
    (w) => set(w.issuer, { authorization_endpoint: gone }),
  ],
  [
    'a relative authorization_endpoint',
    'issuer metadata',
    'authorization_endpoint',
    (w) => set(w.issuer, { authorization_endpoint: '/authorize' }),
  ],
  [
    'token_endpoint over http',
    'issuer metadata',
    'token_endpoint',
    (w) => set(w.issuer, { token_endpoint: 'http://auth.example.com/token' }),
  ],
  [
    'no response_types_supported',
    'issuer metadata',
    'response_types_supported',
    (w) => set(w.issuer, { response_types_supported: gone }),
  ],
  [
    'no code_challenge_methods_supported',
    'issuer metadata',
    'code_challenge_methods_supported',
    (w) => set(w.issuer, { code_challenge_methods_supported: gone }),
  ],
  [
    'plain PKCE only',
    'issuer metadata',
    'code_challenge_methods_supported',
    (w) => set(w.issuer, { code_challenge_methods_supported: ['plain'] }),
  ],
  [
    'no authorization_code grant',
    'issuer metadata',
    'grant_types_supported',
    (w) => set(w.issuer, { grant_types_supported: ['client_credentials'] }),
  ],
  [
    'no way to register',
    'issuer metadata',
    'registration_endpoint',
    (w) => set(w.issuer, { registration_endpoint: gone, client_id_metadata_document_supported: gone }),
  ],
  [
    'registration refuses',
    'registration',
    'status',
    (w) => Object.assign(w.registration, json({ error: 'invalid_redirect_uri', error_description: 'x' }, 400)),
  ],
  ['registration answers 200', 'registration', 'status', (w) => Object.assign(w.registration, { status: 200 })],
  ['registration answers a page', 'registration', 'body', (w) => Object.assign(w.registration, { body: 'ok' })],
  ['no client_id', 'registration', 'client_id', (w) => set(w.registration, { client_id: gone })],
  ['redirect_uris not echoed', 'registration', 'redirect_uris', (w) => set(w.registration, { redirect_uris: gone })],
  [
    'a secret without its end',
    'registration',
    'client_secret_expires_at',
    (w) => set(w.registration, { client_secret: 's' }),
  ],
  ['authorize fails', 'authorize', 'authorization_endpoint', (w) => Object.assign(w.authorize, { status: 400 })],
  [
    'authorize refuses what is right',
    'authorize',
    'authorization_endpoint',
    (w) => Object.assign(w.authorize.headers, { location: `${CALLBACK}?error=invalid_scope&state=x` }),
  ],
  ['authorize redirects with 307', 'authorize', 'status', (w) => Object.assign(w.authorize, { status: 307 })],
  ['PKCE is not required', 'authorize', 'code_challenge', (w) => Object.assign(w.pkce, { required: false })],
  ['no iss with an error', 'authorize', 'iss', (w) => Object.assign(w.pkce, { iss: false })],
  [
    'no iss with the code',
    'authorize',
    'iss',
    (w) => Object.assign(w, { callback: (p: URLSearchParams) => p.delete('iss') }),
  ],
  [
    'another iss',
    'authorize',
    'iss',
    (w) => Object.assign(w, { callback: (p: URLSearchParams) => p.set('iss', `${ISSUER}/`) }),
  ],
  [
    'another state',
    'authorize',
    'state',
    (w) => Object.assign(w, { callback: (p: URLSearchParams) => p.set('state', 'x') }),
  ],
  ['no state', 'authorize', 'state', (w) => Object.assign(w, { callback: (p: URLSearchParams) => p.delete('state') })],
  ['no code', 'authorize', 'code', (w) => Object.assign(w, { callback: (p: URLSearchParams) => p.delete('code') })],
  [
    'an error instead of a code',
    'authorize',
    'error',
    (w) => Object.assign(w, { callback: (p: URLSearchParams) => p.set('error', 'access_denied') }),
  ],
  [
    'the exchange is refused',
    'token',
    'status',
    (w) => Object.assign(w.token, json({ error: 'invalid_client' }, 401, { 'cache-control': 'no-store' })),
  ],
  ['the token answer is not JSON', 'token', 'body', (w) => Object.assign(w.token, { body: 'access_token=x' })],
  ['no access_token', 'token', 'access_token', (w) => set(w.token, { access_token: gone })],
  ['another token_type', 'token', 'token_type', (w) => set(w.token, { token_type: 'mac' })],
  ['expires_in as a text', 'token', 'expires_in', (w) => set(w.token, { expires_in: '3600' })],
  ['a token that may be stored', 'token', 'Cache-Control', (w) => delete w.token.headers['cache-control']],
  [
    'the token is refused',
    'call',
    'status',
    (w) =>
      Object.assign(w.initialize, { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } }),
  ],
  [
    'initialize is not answered',
    'call',
    'result',
    (w) => Object.assign(w.initialize, json({ jsonrpc: '2.0', id: 1, error: {} })),
  ],
  [
    'no protocolVersion',
    'call',
    'protocolVersion',
    (w) => Object.assign(w.initialize, json({ jsonrpc: '2.0', id: 1, result: {} })),
  ],
  ['tools/list is refused', 'call', 'tools/list', (w) => Object.assign(w.tools, { status: 403 })],
  ['a changed token is taken', 'call', 'access token', (w) => Object.assign(w, { takesForged: true })],
  ['a token in the address is taken', 'call', 'access_token', (w) => Object.assign(w, { takesFromAddress: true })],
];

describe('the doctor', () => {
  it('finds no problem in a correct server, over event streams too', async () => {
    const w = deployment();
    expect((await examined(w)).map(({ outcome, findings }) => ({ outcome, findings }))).toEqual(
      Object.keys(STEPS).map(() => ({ outcome: 'fine', findings: [] })),
    );
    for (const reply of [w.initialize, w.tools])
      Object.assign(reply, {
        headers: { 'content-type': 'text/event-stream' },
        body: `event: message\ndata: ${JSON.stringify(reply.body)}\n\n`,
      });
    expect(outcomes(await examined(w))).toBe('++++++++');
  });

  it.each(mutants)('%s: reports %s with %s', async (_what, step, field, change) => {
    const w = deployment();
    change(w);
    const reports = await examined(w);
    expect(reports.map((r) => r.step)).toEqual(Object.keys(STEPS));
    const broken = reports.filter((r) => r.outcome === 'broken');
    expect(broken[0]?.step).toBe(step);
    const said = broken[0]?.findings.filter((f) => f.level === 'broken').map((f) => f.field);
    expect(said).toContain(field);
    expect(renderStep(broken[0] as StepReport)).toMatch(new RegExp(`^✗ ${step}[^]*✗ ${field}: `));
    // Earlier steps must not be reported as the cause.
    expect(outcomes(reports.slice(0, reports.indexOf(broken[0] as StepReport)))).toMatch(/^\+*$/);
  });

  it('continues after a problem with a field that later checks do not need', async () => {
    const w = deployment();
    w.refusal.headers['www-authenticate'] = 'Bearer';
    set(w.prm, { resource: `${SERVER}/` });
    expect(outcomes(await examined(w))).toBe('+xx+++++');
  });

  it('gives advice without reporting an error', async () => {
    const w = deployment();
    set(w.issuer, {
      client_id_metadata_document_supported: gone,
      authorization_response_iss_parameter_supported: gone,
    });
    set(w.prm, { scopes_supported: ['mcp:read', 'offline_access'] });
    set(w.token, { refresh_token: gone });
    const reports = await examined(w);
    expect(outcomes(reports)).toBe('++++++++');
    expect(reports.flatMap((r) => r.findings.map((f) => f.field))).toEqual([
      'scopes_supported',
      'client_id_metadata_document_supported',
      'authorization_response_iss_parameter_supported',
      'refresh_token',
    ]);
  });

  it('skips steps that need a person, for a given token or client, or without a login', async () => {
    const w = deployment();
    expect(outcomes(await examined(w, { login: undefined }))).toBe('+++++---');
    expect(outcomes(await examined(w, { token: 'aaaaaaaaaaaa.bbbbbbbbbbbb' }))).toBe('++++---+');
    expect(outcomes(await examined(w, { clientId: 'cli_2' }))).toBe('++++-+++');
  });

  it('sends PKCE whose challenge hashes the verifier, the resource, and the scope of the challenge', async () => {
    const w = deployment();
    let challenge: string | null = null;
    let form: URLSearchParams | undefined;
    const inner = fetchOf(w);
    await examined(w, {
      login: async (address) => {
        const { searchParams } = new URL(address);
        challenge = searchParams.get('code_challenge');
        expect([searchParams.get('resource'), searchParams.get('scope')]).toEqual([SERVER, 'mcp:read']);
        return person(w)(address);
      },
      fetch: async (input, init) => {
        if (String(input) === `${ISSUER}/token`) form = init?.body as URLSearchParams;
        return inner(input, init);
      },
    });
    expect(
      createHash('sha256')
        .update(form?.get('code_verifier') ?? '')
        .digest('base64url'),
    ).toBe(challenge);
    expect([form?.get('resource'), form?.get('redirect_uri'), form?.get('client_id')]).toEqual([
      SERVER,
      CALLBACK,
      'cli_1',
    ]);
  });
});
