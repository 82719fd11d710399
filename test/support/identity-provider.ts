import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { afterAll, expect } from 'vitest';
import type { FormClient } from './browser-like.ts';
import { openIssuer, type TestIssuer } from './issuer.ts';
import { type Answered, createTestService, type Json, type TestService, type TestUser } from './service.ts';

/** A service that creates accounts for people whom a provider confirms, for all tests of a file. */
export async function createProvisioningService(): Promise<TestService> {
  const t = await createTestService({
    lasting: true,
    config: { federation: { allowPrivateNetworks: true }, users: { provision: true } },
  });
  // The provider uses the clock of the system.
  t.clock.set(new Date().toISOString());
  return t;
}

/** Registers a provider that signs people with addresses at example.com in. Returns the issuer. */
export async function registerProvider(
  t: TestService,
  admin: TestUser,
  name: string,
  { address }: { readonly address: string },
  more: Json = {},
): Promise<Json> {
  const body = { name, issuer: address, uses: ['signIn'], ...CLIENT, domains: ['example.com'], ...more };
  const r = await t.call('POST', '/issuers', { as: admin, body });
  expect(r.status, r.text).toBe(201);
  return r.body;
}

export const CLIENT = { clientId: 'legate', clientSecret: 'the secret of the client' };

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  afterAll(() => new Promise((done) => server.close(() => done(undefined))));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** A person at a provider. */
export interface Somebody {
  readonly sub: string;
  readonly [claim: string]: unknown;
}

/** The certified provider `oidc-provider`, which signs in `person` without asking. */
export interface RealProvider {
  readonly address: string;
  person: Somebody;
  /** The `sid` of the provider's session with the person who signed in last. */
  sid: string;
  /** Sends the logout token of a person and a session of the provider to the service. */
  logout(sub: string, sid: string): Promise<void>;
  /** Signs arbitrary claims with the key of its ID tokens. */
  sign(claims: JWTPayload, typ: string): Promise<string>;
}

/** @param send sends logout tokens, by default over the network. */
export async function openRealProvider(
  callbacks: readonly string[],
  send: (url: string, options: RequestInit) => Promise<Response> = fetch,
): Promise<RealProvider> {
  const server = createServer();
  const address = await listen(server);
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const real: RealProvider = {
    address,
    person: { sub: 'nobody' },
    sid: '',
    logout: async (sub, sid) => {
      const client = await (provider as Json).Client.find(CLIENT.clientId);
      await client.backchannelLogout(sub, sid);
    },
    sign: (claims, typ) =>
      new SignJWT({ iss: address, ...claims }).setProtectedHeader({ alg: 'ES256', kid: 'one', typ }).sign(privateKey),
  };
  const { Provider } = await import('oidc-provider');
  const provider = new Provider(address, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: callbacks,
        id_token_signed_response_alg: 'ES256',
        backchannel_logout_uri: callbacks[0]?.replace('callback', 'logout') ?? '',
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: 'one' }] },
    cookies: { keys: ['a key of the tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', 'department'] },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 300, Interaction: 60, Session: 60 },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    fetch: (url: string | URL | Request, options?: RequestInit) => send(String(url), options ?? {}),
    interactions: { url: (_context: unknown, { uid }: Json) => `/interaction/${uid}` },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: () => real.person }),
    loadExistingGrant: async ({ oidc }: Json) => {
      real.sid = oidc.session.sidFor(CLIENT.clientId);
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
  const handle = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/interaction/')) void handle(request, response);
    else void provider.interactionFinished(request, response, { login: { accountId: real.person.sub } });
  });
  return real;
}

/** Opens addresses like a browser until one belongs to the service. Returns the path of that address. */
export async function throughProvider(t: TestService, from: string): Promise<string> {
  const cookies = new Map<string, string>();
  for (let at = from, i = 0; i < 10; i++) {
    if (at.startsWith(t.legate.baseUrl)) return at.slice(t.legate.baseUrl.length);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const r = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const set of r.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    at = new URL(r.headers.get('location') ?? '', at).href;
  }
  throw new Error('the provider does not come back');
}

/** A provider with ID tokens that a test defines. */
export interface PretendedProvider extends TestIssuer {
  /** Returns the ID token for a nonce. */
  idToken: (nonce: string) => Promise<string>;
  /** The parameters of the last token request. */
  readonly asked: Json[];
}

export async function openPretendedProvider(): Promise<PretendedProvider> {
  const issuer = await openIssuer();
  const asked: Json[] = [];
  const provider: PretendedProvider = Object.assign(issuer, { asked, idToken: () => Promise.resolve('') });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Object.fromEntries(new URLSearchParams(await text(request)));
    asked.push({ ...body, authorization: request.headers.authorization });
    response.writeHead(200, { 'content-type': 'application/json' });
    // In these callbacks, the nonce is the code.
    const id_token = await provider.idToken(body['code'] ?? '');
    response.end(JSON.stringify({ access_token: 'x', token_type: 'Bearer', id_token }));
  };
  const server = createServer((request, response) => void answer(request, response));
  const address = await listen(server);
  issuer.document = { authorization_endpoint: `${issuer.address}/authorize`, token_endpoint: `${address}/token` };
  return provider;
}

/** Begins a sign-in and returns the address of the provider's page. */
export async function begin(browser: FormClient, name: string, returnTo = ''): Promise<URL> {
  const query = returnTo === '' ? '' : `?${new URLSearchParams({ returnTo })}`;
  const r = await browser.get(`/auth/oidc/${name}/start${query}`);
  return new URL(r.headers.get('location') ?? 'none:');
}

/** Returns the callback to which {@link openPretendedProvider} would redirect. */
export const callback = (name: string, page: URL, more: Record<string, string> = {}): string =>
  `/auth/oidc/${name}/callback?${new URLSearchParams({
    code: page.searchParams.get('nonce') ?? '',
    state: page.searchParams.get('state') ?? '',
    ...more,
  })}`;

export async function signInWith(browser: FormClient, name: string): Promise<Answered> {
  return browser.get(callback(name, await begin(browser, name)));
}
