import { z } from 'zod';
import type { Changer } from '../access/caller.ts';
import type { Principal } from '../access/principal.ts';
import { AgentErrors } from '../authorization/agents/index.ts';
import { CommonErrors, LegateError } from '../kernel/errors.ts';
import { secretsEqual } from '../kernel/secrets.ts';
import type { Call, Route } from '../platform/route.ts';
import { defineRoute, type Platform } from '../platform.ts';
import { authorizePage, CONSENT_PATH, decideOnPage } from './authorize/authorize.ts';
import {
  authenticateHolder,
  hasClientCredentials,
  invalidClient,
  readClientCredentials,
  type TokenHolder,
} from './clients/authenticate-client.ts';
import { Registered, registerClient } from './clients/register-client.ts';
import { DEVICE_AUTHORIZATION, deviceAuthorizationRoute, devicePageRoutes } from './device/routes.ts';
import { ClientErrors, OAuthErrors, oauthErrorBody } from './errors.ts';
import { formParameter } from './form-parameter.ts';
import { managementRoutes } from './management-routes.ts';
import { SERVER_METADATA_PATH, ServerMetadata, serverMetadata } from './metadata/metadata.ts';
import { TokenResponseSchema, token } from './token/token.ts';
import { clientParameters, secretParameter, TOKEN_BODY_LIMIT, TokenForm } from './token/token-request.ts';
import { introspect } from './tokens/introspect.ts';
import { keyRing } from './tokens/keys.ts';
import { revokeToken } from './tokens/revoke-token.ts';

const BODY_LIMIT = 65_536;
const HTML = { mediaTypes: ['text/html'] } as const;
const AnyFields = z.record(z.string(), z.string());

/** Serves an endpoint under /oauth and /mcp, at both mounts (specification 4, contract 12). */
const atEveryPath = <T>(make: (path: string, mount: 'base' | 'rest') => T): ((name: string) => T[]) => {
  return (name) =>
    (['base', 'rest'] as const).flatMap((mount) => [make(`/oauth/${name}`, mount), make(`/mcp/${name}`, mount)]);
};

/** Serves a route below /oauth, at the REST mount, at the other paths too. */
const alsoAtOtherPaths = (route: Route<Platform>): Route<Platform>[] => {
  const [, name] = /^\/oauth\/(.+)$/.exec(route.path) ?? [];
  if (name === undefined) return [route];
  const all = atEveryPath((path, mount) => ({ ...route, path, mount }))(name);
  return [route, ...all.filter(({ path, mount }) => path !== route.path || mount !== 'rest')];
};

const handleAuthorize = (call: Call<undefined, undefined, undefined>, platform: Platform): Promise<Response> =>
  authorizePage(platform, call);
const authorizeErrors = [ClientErrors.AUTHORIZATION_REQUEST_INVALID];

const authorizeGet = atEveryPath((path, mount) =>
  defineRoute({
    method: 'GET',
    path,
    mount,
    summary: 'Start an authorization request',
    description:
      'The authorization endpoint (OAuth 2.1, section 4.1; PKCE with S256 only). Its parameters are the standard ' +
      'ones: response_type=code, client_id, redirect_uri, code_challenge, code_challenge_method=S256, scope, state, ' +
      'resource. It redirects to the sign-in page, to the consent page, or back to the client. If no administrator ' +
      'registered the client and the person has not consented to it yet, an error is shown on a page with a link ' +
      'to the client (RFC 9700, section 4.11.2).',
    access: 'public',
    rateLimit: 'authorization',
    page: true,
    responses: { 302: null, 400: HTML },
    errorBody: oauthErrorBody,
    errors: authorizeErrors,
    handle: handleAuthorize,
  }),
);

const handleConsent = (call: Call<undefined, undefined, undefined>, platform: Platform): Promise<Response> =>
  authorizePage(platform, call, true);
const consentGet = atEveryPath((path, mount) =>
  defineRoute({
    method: 'GET',
    path,
    mount,
    summary: 'Consent page',
    description: 'Has the query of the authorization request, which redirects here.',
    access: 'public',
    rateLimit: 'authorization',
    page: true,
    responses: { 200: HTML, 302: null, 400: HTML },
    errorBody: oauthErrorBody,
    errors: authorizeErrors,
    handle: handleConsent,
  }),
);

const handleDecide = (
  call: Call<undefined, undefined, Record<string, string>>,
  platform: Platform,
): Promise<Response> => decideOnPage(platform, call, call.body);
const consentPost = atEveryPath((path, mount) =>
  defineRoute({
    method: 'POST',
    path,
    mount,
    summary: 'Submit the consent page',
    access: 'public',
    rateLimit: 'authorization',
    page: true,
    form: 'only',
    body: AnyFields,
    bodyLimit: BODY_LIMIT,
    responses: { 303: null, 400: HTML, 403: HTML, 409: HTML },
    errorBody: oauthErrorBody,
    errors: [...authorizeErrors, ClientErrors.CONSENT_TOKEN_INVALID, ClientErrors.CONSENT_ALREADY_GIVEN],
    handle: handleDecide,
  }),
);

const handleToken = async (call: Call<undefined, undefined, TokenForm>, platform: Platform) => ({
  status: 200,
  body: await token(platform, call.header('authorization'), call.body, call.actor),
});
const tokenRoute = (path: string, mount: 'base' | 'rest') =>
  defineRoute({
    method: 'POST',
    path,
    mount,
    summary: 'Exchange a code, a refresh token or another token for an access token',
    description:
      'The token endpoint (OAuth 2.1, section 3.2; RFC 8628 for devices; RFC 8693 for token exchange). Clients ' +
      'authenticate with a secret or a key (`private_key_jwt`: RFC 7523, section 2.2). All its paths share one rate ' +
      'limit.',
    access: 'public',
    checksItself: ['client', 'none'],
    crossOrigin: true,
    fastPath: true,
    rateLimit: 'token',
    form: 'only',
    body: TokenForm,
    bodyLimit: TOKEN_BODY_LIMIT,
    responses: { 200: TokenResponseSchema },
    errorBody: oauthErrorBody,
    errors: [
      OAuthErrors.OAUTH_INVALID_REQUEST,
      OAuthErrors.OAUTH_INVALID_CLIENT,
      OAuthErrors.OAUTH_INVALID_GRANT,
      OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT,
      OAuthErrors.OAUTH_UNSUPPORTED_GRANT_TYPE,
      OAuthErrors.OAUTH_INVALID_SCOPE,
      OAuthErrors.OAUTH_INVALID_TARGET,
      OAuthErrors.OAUTH_AUTHORIZATION_PENDING,
      OAuthErrors.OAUTH_SLOW_DOWN,
      OAuthErrors.OAUTH_EXPIRED_TOKEN,
      ClientErrors.DEVICE_ACCESS_DENIED,
      AgentErrors.AGENT_LIMIT_EXCEEDED,
      OAuthErrors.OAUTH_TEMPORARILY_UNAVAILABLE,
    ],
    handle: handleToken,
  });

/** In bytes. Small, because anyone may register. */
const REGISTRATION_LIMIT = 8192;

const assertMayRegister = async (
  { config }: Pick<Platform, 'config'>,
  call: Call<undefined, undefined, unknown>,
): Promise<Changer> => {
  const { registration, registrationToken } = config.mcp;
  const bearer = /^bearer +(.+)$/i.exec(call.request.headers.get('authorization') ?? '')?.[1];
  if (registration === 'open') return bearer === undefined ? call : knownPerson(call);
  if (registration === 'closed')
    throw OAuthErrors.OAUTH_ACCESS_DENIED({
      message: 'Client registration is closed. Ask an administrator to create the client.',
    });
  if (bearer !== undefined && registrationToken !== undefined && secretsEqual(bearer, registrationToken)) return call;
  if (bearer === undefined) throw CommonErrors.UNAUTHORIZED();
  const person = await call.requireUser();
  if (person.principal.role !== 'admin') throw OAuthErrors.OAUTH_ACCESS_DENIED();
  return person;
};

/** Open registration needs no credential, but events name the person whose credential it had. */
const knownPerson = async (call: Call<undefined, undefined, unknown>): Promise<Changer> => {
  try {
    return await call.requireUser();
  } catch (error) {
    if (error instanceof LegateError && (error.status === 401 || error.status === 403)) return call;
    throw error;
  }
};

const handleRegister = async (
  call: Call<undefined, undefined, unknown>,
  platform: Pick<Platform, 'audience' | 'config' | 'database' | 'ledger'>,
) => {
  return {
    status: 201,
    body: await registerClient(platform, await assertMayRegister(platform, call), call.body, 'self'),
    headers: { pragma: 'no-cache' },
  };
};
const register = atEveryPath((path, mount) =>
  defineRoute({
    method: 'POST',
    path,
    mount,
    summary: 'Register a client',
    description:
      'Dynamic client registration (RFC 7591). Open by default; mcp.registration restricts it. Unknown members are ' +
      'ignored.',
    access: 'public',
    checksItself: ['none', 'bearer'],
    crossOrigin: true,
    rateLimit: 'registration',
    body: z.unknown().meta({ description: 'Client metadata of RFC 7591, section 2.' }),
    bodyLimit: REGISTRATION_LIMIT,
    responses: { 201: Registered },
    errorBody: oauthErrorBody,
    errors: [
      OAuthErrors.OAUTH_INVALID_REDIRECT_URI,
      OAuthErrors.OAUTH_INVALID_CLIENT_METADATA,
      OAuthErrors.OAUTH_ACCESS_DENIED,
      CommonErrors.UNAUTHORIZED,
    ],
    handle: handleRegister,
  }),
);

const TokenParameters = z.object({
  token: secretParameter,
  token_type_hint: formParameter(100),
  ...clientParameters,
});

const handleRevoke = async (call: Call<undefined, undefined, z.output<typeof TokenParameters>>, platform: Platform) => {
  const credentials = readClientCredentials(call.header('authorization'), call.body, 'revoke');
  const holder = await authenticateHolder(platform, credentials);
  if (!call.body.token) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'token is missing.' });
  await revokeToken(platform, holder.id, call.body.token, call.actor);
  return { status: 200, body: {} };
};
const revoke = atEveryPath((path, mount) =>
  defineRoute({
    method: 'POST',
    path,
    mount,
    summary: 'Revoke a token',
    description:
      'RFC 7009. Revoking a refresh token ends its whole grant, and an access token only itself and the tokens ' +
      'exchanged for it. The access token of a grant type without refresh tokens, such as an exchanged token, is the ' +
      'only one of its grant and ends it, with its delegation. An authenticated client always gets 200 with an empty ' +
      'object, also for an unknown token.',
    access: 'public',
    rateLimit: 'revocation',
    checksItself: ['client', 'none'],
    crossOrigin: true,
    fastPath: true,
    form: 'only',
    body: TokenParameters.meta({ id: 'RevocationRequest' }),
    bodyLimit: TOKEN_BODY_LIMIT,
    responses: { 200: z.strictObject({}).meta({ id: 'Revocation' }) },
    errorBody: oauthErrorBody,
    errors: [
      OAuthErrors.OAUTH_INVALID_REQUEST,
      OAuthErrors.OAUTH_INVALID_CLIENT,
      OAuthErrors.OAUTH_TEMPORARILY_UNAVAILABLE,
    ],
    handle: handleRevoke,
  }),
);

const handleIntrospect = async (
  call: Call<undefined, undefined, z.output<typeof TokenParameters>>,
  platform: Platform,
) => {
  const header = call.header('authorization');
  const bearer = /^bearer /i.test(header ?? '');
  let holder: TokenHolder | null = null;
  if (bearer) {
    if (!(await isAdmin(call))) throw OAuthErrors.OAUTH_ACCESS_DENIED();
  } else {
    if (header === null && !hasClientCredentials(header, call.body)) throw CommonErrors.UNAUTHORIZED();
    holder = await authenticateHolder(platform, readClientCredentials(header, call.body, 'introspect'));
    if (!holder.confidential) throw invalidClient({ id: holder.id, byBasic: false }, 'client-public');
  }
  if (!call.body.token) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'token is missing.' });
  return { status: 200, body: await introspect(platform, holder, call.body.token) };
};
const introspection = atEveryPath((path, mount) =>
  defineRoute({
    method: 'POST',
    path,
    mount,
    summary: 'Introspect a token',
    description:
      'RFC 7662. Administrators and auditors (Bearer) may introspect every token. Clients that have a secret or a ' +
      'key may introspect tokens of their own grants and of the resources for which an administrator registered ' +
      'them; agents authenticate like clients, with their id and agent token or a key. For any other token, and for ' +
      'one that is not valid, the response is exactly {"active":false}.',
    access: 'public',
    effect: 'none',
    checksItself: ['client', 'bearer'],
    rateLimit: 'introspection',
    fastPath: true,
    form: 'only',
    body: TokenParameters.meta({ id: 'IntrospectionRequest' }),
    bodyLimit: TOKEN_BODY_LIMIT,
    responses: { 200: z.looseObject({ active: z.boolean() }).meta({ id: 'Introspection' }) },
    errorBody: oauthErrorBody,
    errors: [
      OAuthErrors.OAUTH_INVALID_REQUEST,
      OAuthErrors.OAUTH_INVALID_CLIENT,
      OAuthErrors.OAUTH_ACCESS_DENIED,
      CommonErrors.UNAUTHORIZED,
    ],
    handle: handleIntrospect,
  }),
);

const isAdmin = async (call: Call<undefined, undefined, unknown>): Promise<boolean> => {
  const { principal }: { principal: Principal } = await call.requireUser();
  return principal.kind === 'user' && principal.role !== 'user';
};

const handleKeys = (_call: unknown, platform: Pick<Platform, 'config' | 'secrets' | 'stateOf'>) => ({
  status: 200,
  body: { keys: [...keyRing(platform).byId.values()].flatMap(({ jwk }) => (jwk ? [jwk] : [])) },
});
const jwks = atEveryPath((path, mount) =>
  defineRoute({
    method: 'GET',
    path,
    mount,
    summary: 'List the public keys of access tokens',
    description: 'RFC 7517. Empty if mcp.signing is HS256, whose key is secret.',
    access: 'public',
    crossOrigin: true,
    responses: { 200: z.object({ keys: z.array(z.looseObject({})) }).meta({ id: 'JsonWebKeySet' }) },
    handle: handleKeys,
  }),
);

const METADATA_HEADERS = { 'cache-control': 'public, max-age=60' } as const;

/** Specification 4.5, contract 12. */
export const oauthRoutes = [
  defineRoute({
    method: 'GET',
    path: SERVER_METADATA_PATH,
    mount: 'root',
    summary: 'Get the authorization server metadata',
    description: 'RFC 8414.',
    access: 'public',
    crossOrigin: true,
    responses: { 200: ServerMetadata },
    handle: (_call, platform) => ({ status: 200, body: serverMetadata(platform), headers: METADATA_HEADERS }),
  }),
  defineRoute({
    method: 'GET',
    path: `${SERVER_METADATA_PATH}/:path{.+}`,
    mount: 'root',
    summary: 'Get the metadata of an issuer with a path',
    description: 'RFC 8414, section 3.1.',
    access: 'public',
    crossOrigin: true,
    params: z.object({ path: z.string() }),
    responses: { 200: ServerMetadata },
    errors: [CommonErrors.NOT_FOUND],
    handle: ({ url }, platform) => {
      const path = new URL(platform.issuer).pathname.replace(/\/$/, '');
      if (path === '' || url.pathname.slice(SERVER_METADATA_PATH.length) !== path) throw CommonErrors.NOT_FOUND();
      return { status: 200, body: serverMetadata(platform), headers: METADATA_HEADERS };
    },
  }),
  ...authorizeGet('authorize'),
  ...consentGet(`authorize${CONSENT_PATH}`),
  ...consentPost(`authorize${CONSENT_PATH}`),
  ...atEveryPath(tokenRoute)('token'),
  tokenRoute('/token', 'rest'),
  ...atEveryPath(deviceAuthorizationRoute)(DEVICE_AUTHORIZATION),
  ...devicePageRoutes,
  ...register('register'),
  ...revoke('revoke'),
  ...introspection('introspect'),
  ...jwks('jwks'),
  ...managementRoutes.flatMap(alsoAtOtherPaths),
];
