import { createHash, randomBytes } from 'node:crypto';
import type { Id } from '../../src/kernel/ids.ts';
import { type Answered, createTestService, type Json, type TestService } from './service.ts';

const REDIRECT_URI = 'https://app.example/callback';

export const pkce = (): { verifier: string; challenge: string } => {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
};

/** A signed-in person, with the session token as Bearer. */
export interface Person {
  readonly id: Id<'user'>;
  readonly email: string;
  readonly token: string;
}

let count = 0;
export async function signUp(t: TestService): Promise<Person> {
  const email = `person-${++count}-${randomBytes(4).toString('hex')}@example.com`;
  const r = await t.call('POST', '/sign-up', { body: { email, password: 'correct horse battery' } });
  if (r.status !== 200) throw new Error(`POST /sign-up answered ${r.status}: ${r.text}`);
  return { id: r.body.user.id, email, token: r.body.token };
}

export async function register(t: TestService, metadata: Json = {}): Promise<Json> {
  const r = await t.call('POST', '/oauth/register', {
    body: { redirect_uris: [REDIRECT_URI], client_name: 'Test client', ...metadata },
  });
  if (r.status !== 201) throw new Error(`POST /oauth/register answered ${r.status}: ${r.text}`);
  return r.body;
}

export const form = (
  t: TestService,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answered> =>
  t.call('POST', path, {
    raw: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

export interface Asked {
  readonly client: Json;
  readonly query: Record<string, string>;
  readonly verifier: string;
}

/** Returns an authorization request of a client, with other parameters (undefined removes one). */
export function ask(client: Json, more: Record<string, string | undefined> = {}): Asked {
  const { verifier, challenge } = pkce();
  const all: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: client.redirect_uris[0],
    code_challenge: challenge,
    code_challenge_method: 'S256',
    scope: 'mcp:read mcp:execute',
    state: 'the state',
    ...more,
  };
  return {
    client,
    verifier,
    query: Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)),
  };
}

export const authorizePath = (asked: Asked, prefix = '/oauth'): string =>
  `${prefix}/authorize?${new URLSearchParams(asked.query)}`;

export const consentPath = (asked: Asked): string => authorizePath(asked).replace('?', '/consent?');

/** Opens the authorization endpoint and follows the redirect to the consent page. */
export async function opened(
  t: TestService,
  path: string,
  o: Parameters<TestService['call']>[2] = {},
): Promise<Answered> {
  const r = await t.call('GET', path, o);
  const location = r.headers.get('location');
  return location !== null && r.status === 302 && location === path.replace('?', '/consent?')
    ? t.call('GET', location, o)
    : r;
}

/** Registers a client as an administrator. Errors of its requests are redirected. */
export async function registerVouched(t: TestService, metadata: Json = {}): Promise<Json> {
  const r = await t.call('POST', '/oauth/clients', {
    as: await t.admin(),
    body: { redirect_uris: [REDIRECT_URI], client_name: 'Vouched client', ...metadata },
  });
  if (r.status !== 201) throw new Error(`POST /oauth/clients answered ${r.status}: ${r.text}`);
  return r.body;
}

/** Returns the token in a consent form. */
export const consentTokenOf = (page: Answered): string =>
  /name="consentToken" value="([^"]+)"/.exec(page.text)?.[1] ?? '';

/** Allows all requested scopes on the consent page. Returns the redirect. */
export async function consent(
  t: TestService,
  person: Person,
  asked: Asked,
  fields: Record<string, string> = {},
): Promise<Answered> {
  const authorization = { authorization: `Bearer ${person.token}` };
  const page = await opened(t, authorizePath(asked), { headers: authorization });
  if (page.status !== 200) return page;
  const asks = [...page.text.matchAll(/<input type="checkbox" id="([^"]+)"/g)].map((m) => [m[1] as string, 'on']);
  const agent = /name="agent" value="([^"]+)" checked/.exec(page.text)?.[1] ?? 'new';
  const typed = { ...Object.fromEntries(asks), agent, decision: 'allow', ...fields };
  return form(t, consentPath(asked), { ...typed, consentToken: consentTokenOf(page), ...fields }, authorization);
}

export const locationOf = (r: Answered): URL => new URL(r.headers.get('location') ?? 'missing:');

export async function code(t: TestService, person: Person, asked: Asked): Promise<string> {
  const r = await consent(t, person, asked);
  const found = locationOf(r).searchParams.get('code');
  if (found === null) throw new Error(`no code: ${r.status} ${r.headers.get('location')} ${r.text.slice(0, 300)}`);
  return found;
}

export const exchange = (
  t: TestService,
  asked: Asked,
  codeValue: string,
  more: Record<string, string> = {},
): Promise<Answered> =>
  form(t, '/oauth/token', {
    grant_type: 'authorization_code',
    code: codeValue,
    client_id: asked.client.client_id,
    redirect_uri: asked.query['redirect_uri'] ?? '',
    code_verifier: asked.verifier,
    ...more,
  });

/** Returns the tokens after a consent. */
export async function tokens(
  t: TestService,
  person: Person,
  client: Json,
  more: Record<string, string | undefined> = {},
): Promise<Json> {
  const asked = ask(client, more);
  const r = await exchange(t, asked, await code(t, person, asked));
  if (r.status !== 200) throw new Error(`the token endpoint answered ${r.status}: ${r.text}`);
  return r.body;
}

export const refreshWith = (
  t: TestService,
  client: Json,
  refreshToken: string,
  more: Record<string, string> = {},
): Promise<Answered> =>
  form(t, '/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: client.client_id,
    ...more,
  });

export const claimsOf = (token: string): Json =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

/** Returns a service for a whole file, with MCP servers by name, a person and a client. */
export async function withServers(
  servers: Readonly<Record<string, string>>,
): Promise<{ t: TestService; person: Person; client: Json }> {
  const t = await createTestService({ lasting: true, config: { http: { basePath: '/api/legate' } } });
  const [person, client, admin] = [await signUp(t), await register(t), await t.admin()];
  for (const [name, endpoint] of Object.entries(servers))
    await t.call('POST', '/mcp/servers', { as: admin, body: { name, endpoint, tools: ['search'] } });
  return { t, person, client };
}

/** Returns the form that exchanges a new code of the person. */
export async function formOfCode(
  t: TestService,
  person: Person,
  client: Json,
  more: Record<string, string | undefined> = {},
): Promise<Record<string, string>> {
  const request = ask(client, more);
  return {
    grant_type: 'authorization_code',
    code: await code(t, person, request),
    client_id: client.client_id,
    redirect_uri: request.query['redirect_uri'] ?? '',
    code_verifier: request.verifier,
  };
}
