import { newId } from '../../src/kernel/ids.ts';
import {
  AGENT_KEYS,
  anomaly,
  apiToken,
  approval,
  budget,
  client,
  decided,
  delegation,
  delivery,
  grant,
  invite,
  issuer,
  keysPath,
  mcpServer,
  newIssuer,
  newPasskey,
  passkey,
  question,
  registered,
  registeredPath,
  type Scene,
  type Statuses,
  scimGroup,
  session,
  trust,
  usedPasskey,
  webhook,
  workload,
} from './matrix.scene.ts';

/**
 * The objects that the row addresses. They belong to the owner, and are created again after each request that may have
 * changed one.
 */
export interface Target {
  readonly path: string;
  /** URLSearchParams are sent as a form. */
  readonly body?: unknown;
}

export interface Row {
  /** The scope of the narrowed token. */
  readonly scope?: string;
  readonly target: (scene: Scene) => Promise<Target> | Target;
  readonly want: Statuses;
}

/** Returns the status in a row for a kind of caller, with the defaults of `Statuses`. */
export function statusFor(method: string, want: Statuses, field: keyof Statuses): number {
  if (want.everyone !== undefined) return want.everyone;
  const stated = want[field];
  if (stated !== undefined) return stated;
  if (field === 'auditor' && method === 'GET') return want.admin ?? 403;
  if (field === 'nobody' || field === 'endedCredential') return 401;
  return field === 'ownerByCookie' ? (want.owner ?? 403) : 403;
}

/** Returns a path below the id of the sealed log. */
const ofLog =
  (path: string) =>
  async ({ t }: Scene): Promise<Target> => ({
    path: `/ledger/${(await t.legate.ledger.logs())[0]?.id}/${path}`,
  });
const fixed = (path: string, body?: unknown) => (): Target => (body === undefined ? { path } : { path, body });

/**
 * Every endpoint and every kind of caller (contract 4). An endpoint without a row fails the test, as does a row without
 * an endpoint.
 */
export const matrix: Readonly<Record<string, Row>> = {
  'POST /authorize': {
    scope: 'authorize',
    target: ({ agent }) => ({ path: '/authorize', body: { agentId: agent.id, ...question } }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  // For an agent that the caller cannot see, the list of responses contains an error.
  'POST /authorize/batch': {
    scope: 'authorize',
    target: ({ agent }) => ({ path: '/authorize/batch', body: { requests: [{ agentId: agent.id, ...question }] } }),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'POST /tenants': {
    target: fixed('/tenants', { name: 'Acme', slug: 'acme' }),
    want: { admin: 201 },
  },
  'GET /tenants': {
    target: fixed('/tenants'),
    want: { admin: 200 },
  },
  'GET /tenants/:id': {
    target: async ({ t }) => ({ path: `/tenants/${await t.tenant()}` }),
    want: { admin: 200 },
  },
  'PATCH /tenants/:id': {
    target: async ({ t }) => ({ path: `/tenants/${await t.tenant()}`, body: { name: 'Other' } }),
    want: { admin: 200 },
  },
  'DELETE /tenants/:id': {
    target: async ({ t }) => ({ path: `/tenants/${await t.tenant()}` }),
    want: { admin: 204 },
  },
  // A public endpoint does not check credentials.
  'POST /sign-up': {
    target: ({ owner }) => ({ path: '/sign-up', body: { email: `new-${owner.email}`, password: 'long enough' } }),
    want: { everyone: 200 },
  },
  // Each caller uses a different account, because guesses are limited for each account, whether it exists or not.
  'POST /sign-in': {
    target: ({ owner }) => ({ path: '/sign-in', body: { email: `nobody-${owner.email}`, password: 'long enough' } }),
    want: { everyone: 401 },
  },
  // An API token has no session that could end.
  'POST /sign-out': {
    target: fixed('/sign-out'),
    want: { ownerByCookie: 204 },
  },
  'GET /auth/session': {
    target: fixed('/auth/session'),
    want: { owner: 200, anotherUser: 200, admin: 200 },
  },
  // A public endpoint has the same response for every caller.
  'POST /magic-link': {
    target: fixed('/magic-link', { email: 'nobody@example.com' }),
    want: { everyone: 200 },
  },
  'GET /auth/oidc/:name/start': {
    target: fixed('/auth/oidc/unknown/start'),
    want: { everyone: 404 },
  },
  'POST /auth/oidc/:name/logout': {
    target: fixed('/auth/oidc/unknown/logout', new URLSearchParams({ logout_token: 'x' })),
    want: { everyone: 404 },
  },
  'GET /auth/oidc/:name/callback': {
    target: fixed('/auth/oidc/unknown/callback?code=x&state=x'),
    want: { everyone: 404 },
  },
  'GET /magic-link/verify': {
    target: fixed('/magic-link/verify?token=lgo_x'),
    want: { everyone: 401 },
  },
  'POST /magic-link/verify': {
    target: fixed('/magic-link/verify', { token: 'lgo_x' }),
    want: { everyone: 401 },
  },
  'POST /email-otp': {
    target: fixed('/email-otp', { email: 'nobody@example.com' }),
    want: { everyone: 200 },
  },
  'POST /email-otp/verify': {
    target: ({ owner }) => ({ path: '/email-otp/verify', body: { email: `nobody-${owner.email}`, otp: '123456' } }),
    want: { everyone: 401 },
  },
  'POST /password/forgot': {
    target: fixed('/password/forgot', { email: 'nobody@example.com' }),
    want: { everyone: 200 },
  },
  'GET /password/reset': {
    target: fixed('/password/reset?token=lgo_x'),
    want: { everyone: 401 },
  },
  'POST /password/reset': {
    target: fixed('/password/reset', { token: 'lgo_x', newPassword: 'long enough' }),
    want: { everyone: 401 },
  },
  'POST /verify-email/send': {
    target: fixed('/verify-email/send', { email: 'nobody@example.com' }),
    want: { everyone: 200 },
  },
  'GET /verify-email': {
    target: fixed('/verify-email?token=lgo_x'),
    want: { everyone: 401 },
  },
  'POST /verify-email': {
    target: fixed('/verify-email', { token: 'lgo_x' }),
    want: { everyone: 401 },
  },
  'POST /invites': {
    target: ({ owner }) => ({ path: '/invites', body: { email: `invited-${owner.email}` } }),
    want: { admin: 201 },
  },
  'GET /invites': {
    target: fixed('/invites'),
    want: { admin: 200 },
  },
  'DELETE /invites/:id': {
    target: async (s) => ({ path: `/invites/${await invite(s)}` }),
    want: { admin: 204 },
  },
  'POST /password/change': {
    target: fixed('/password/change', { currentPassword: 'long enough', newPassword: 'longer enough' }),
    want: { ownerByCookie: 401 },
  },
  // Routes for people with a session. The owner has no password here.
  'POST /totp/enable': {
    target: fixed('/totp/enable', { password: 'long enough' }),
    want: { ownerByCookie: 401 },
  },
  'POST /totp/verify': {
    target: fixed('/totp/verify', { code: '123456' }),
    want: { ownerByCookie: 409 },
  },
  'DELETE /users/:id/second-factor': {
    target: ({ owner }) => ({ path: `/users/${owner.id}/second-factor` }),
    want: { admin: 204 },
  },
  'POST /totp/disable': {
    target: fixed('/totp/disable', { password: 'long enough' }),
    want: { ownerByCookie: 401 },
  },
  // Adding a passkey requires a session.
  'POST /passkeys/register/options': { target: fixed('/passkeys/register/options'), want: { ownerByCookie: 200 } },
  'POST /passkeys/register/verify': {
    target: fixed('/passkeys/register/verify', newPasskey),
    want: { ownerByCookie: 422 },
  },
  'DELETE /passkeys/:id': {
    target: async (s) => ({ path: `/passkeys/${await passkey(s)}` }),
    want: { owner: 204, anotherUser: 404, admin: 404, auditor: 404 },
  },
  'GET /passkeys': { target: fixed('/passkeys'), want: { owner: 200, anotherUser: 200, admin: 200 } },
  'POST /passkeys/sign-in/options': { target: fixed('/passkeys/sign-in/options'), want: { everyone: 200 } },
  'POST /passkeys/sign-in/verify': {
    target: fixed('/passkeys/sign-in/verify', usedPasskey),
    want: { everyone: 401 },
  },
  // An API token can list the sessions of its user, none of which is its own. Sessions of others require an
  // administrator.
  'GET /auth/sessions': {
    target: fixed('/auth/sessions'),
    want: { owner: 200, anotherUser: 200, admin: 200 },
  },
  'DELETE /auth/sessions/:id': {
    target: async (s) => ({ path: `/auth/sessions/${await session(s)}` }),
    want: { owner: 204, anotherUser: 404, admin: 404, auditor: 404 },
  },
  'DELETE /auth/sessions': {
    target: fixed('/auth/sessions'),
    want: { owner: 200, anotherUser: 200, admin: 200, auditor: 200 },
  },
  'GET /users/:id/sessions': {
    target: ({ owner }) => ({ path: `/users/${owner.id}/sessions` }),
    want: { admin: 200 },
  },
  'DELETE /users/:id/sessions': {
    target: ({ owner }) => ({ path: `/users/${owner.id}/sessions` }),
    want: { admin: 200 },
  },
  'DELETE /users/:id/sessions/:sid': {
    target: async (s) => ({ path: `/users/${s.owner.id}/sessions/${await session(s)}` }),
    want: { admin: 204 },
  },
  'GET /users': { target: fixed('/users'), want: { admin: 200 } },
  'GET /users/:id': {
    target: ({ owner }) => ({ path: `/users/${owner.id}` }),
    want: { admin: 200 },
  },
  'PATCH /users/:id': {
    target: ({ owner }) => ({ path: `/users/${owner.id}`, body: { name: 'x' } }),
    want: { admin: 200 },
  },
  'DELETE /users/:id': {
    target: ({ owner }) => ({ path: `/users/${owner.id}` }),
    want: { admin: 204 },
  },
  // Pages. A visitor without a session and without a credential of another kind is redirected to the sign-in page.
  'GET /account/sign-in': {
    target: fixed('/account/sign-in'),
    want: { everyone: 200 },
  },
  'POST /account/sign-in': {
    target: ({ owner }) => ({
      path: '/account/sign-in',
      body: { email: `nobody-${owner.email}`, password: 'long enough' },
    }),
    want: { everyone: 401 },
  },
  'GET /account/sign-up': {
    target: fixed('/account/sign-up'),
    want: { everyone: 200 },
  },
  'POST /account/sign-up': {
    target: ({ owner }) => ({
      path: '/account/sign-up',
      body: { email: `page-${owner.email}`, password: 'long enough' },
    }),
    want: { everyone: 303 },
  },
  // None of the callers has completed the first step of a sign-in.
  'GET /account/second-factor': {
    target: fixed('/account/second-factor'),
    want: { everyone: 400 },
  },
  'POST /account/second-factor': {
    target: fixed('/account/second-factor', { code: '123456' }),
    want: { everyone: 401 },
  },
  'GET /account/magic-link': {
    target: fixed('/account/magic-link'),
    want: { everyone: 200 },
  },
  'POST /account/magic-link': {
    target: fixed('/account/magic-link', { email: 'nobody@example.com' }),
    want: { everyone: 200 },
  },
  'GET /account/forgot-password': {
    target: fixed('/account/forgot-password'),
    want: { everyone: 200 },
  },
  'POST /account/forgot-password': {
    target: fixed('/account/forgot-password', { email: 'nobody@example.com' }),
    want: { everyone: 200 },
  },
  'GET /account/verify-email': {
    target: fixed('/account/verify-email'),
    want: { everyone: 200 },
  },
  'POST /account/verify-email': {
    target: fixed('/account/verify-email', { email: 'nobody@example.com' }),
    want: { everyone: 200 },
  },
  'GET /': {
    target: fixed('/'),
    want: { everyone: 404 },
  },
  'GET /account': {
    target: fixed('/account'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'GET /account/devices': {
    target: fixed('/account/devices'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'POST /account/devices': {
    target: fixed('/account/devices', {}),
    want: { owner: 303, anotherUser: 303, admin: 303, auditor: 303 },
  },
  'GET /account/two-factor': {
    target: fixed('/account/two-factor'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  // The forms require a session. The password is missing.
  'POST /account/two-factor': {
    target: fixed('/account/two-factor', { action: 'begin' }),
    want: { ownerByCookie: 200 },
  },
  'POST /account/two-factor/devices': {
    target: fixed('/account/two-factor/devices', {}),
    want: { ownerByCookie: 303 },
  },
  'GET /account/passkeys': {
    target: fixed('/account/passkeys'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'POST /account/passkeys': {
    target: async (s) => ({ path: '/account/passkeys', body: { action: 'remove', id: await passkey(s) } }),
    want: { ownerByCookie: 303 },
  },
  'GET /account/connections': {
    target: fixed('/account/connections'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'POST /account/connections': {
    target: fixed('/account/connections', { action: 'remove', issuer: 'https://nobody.example' }),
    want: { ownerByCookie: 404 },
  },
  'GET /account/password': {
    target: fixed('/account/password'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'POST /account/password': {
    target: fixed('/account/password', { currentPassword: 'x', newPassword: 'another long password' }),
    want: { ownerByCookie: 401 },
  },
  'GET /account/tokens': {
    target: fixed('/account/tokens'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'POST /account/tokens': {
    target: fixed('/account/tokens', { name: 'x', access: 'all' }),
    want: { owner: 200, anotherUser: 200, admin: 200, auditor: 200 },
  },
  'POST /account/tokens/revoke': {
    target: async (s) => ({ path: '/account/tokens/revoke', body: { id: await apiToken(s) } }),
    want: { owner: 303, anotherUser: 303, admin: 303, auditor: 303 },
  },
  'GET /account/email-code': {
    target: fixed('/account/email-code'),
    want: { everyone: 200 },
  },
  'GET /account/email-code/verify': {
    target: fixed('/account/email-code/verify'),
    want: { everyone: 200 },
  },
  'POST /account/email-code': {
    target: fixed('/account/email-code', { email: 'nobody@example.com' }),
    want: { everyone: 200 },
  },
  'POST /account/email-code/verify': {
    target: ({ owner }) => ({
      path: '/account/email-code/verify',
      body: { email: `nobody-${owner.email}`, code: '123456' },
    }),
    want: { everyone: 401 },
  },
  'POST /account/sign-out': {
    target: fixed('/account/sign-out', {}),
    want: { ownerByCookie: 303 },
  },
  // Users exist, so no set-up link is valid.
  'GET /setup': {
    target: fixed('/setup?token=lgu_x'),
    want: { everyone: 410 },
  },
  'POST /setup': {
    target: fixed('/setup', { token: 'lgu_x', email: 'a@example.com', password: 'long enough' }),
    want: { everyone: 410 },
  },
  'POST /api-tokens': {
    target: fixed('/api-tokens', { name: 'x' }),
    want: { owner: 201, anotherUser: 201, admin: 201, auditor: 201 },
  },
  'GET /api-tokens': {
    target: fixed('/api-tokens'),
    want: { owner: 200, anotherUser: 200, admin: 200 },
  },
  'DELETE /api-tokens/:id': {
    target: async (s) => ({ path: `/api-tokens/${await apiToken(s)}` }),
    want: { owner: 204, anotherUser: 404, admin: 204, auditor: 404 },
  },
  // No scope gives access to costs and budgets. An agent sees and records its own costs, and only its owner sets its
  // limits.
  'POST /costs': {
    target: ({ agent }) => ({ path: '/costs', body: { agentId: agent.id, amount: 1 } }),
    want: {
      owner: 201,
      anotherUser: 404,
      agentItself: 201,
      otherAgent: 404,
      gatewayAgent: 201,
      strangersAgent: 404,
      admin: 201,
    },
  },
  'GET /costs': {
    target: fixed('/costs'),
    want: {
      owner: 200,
      anotherUser: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /costs/summary': {
    target: fixed('/costs/summary'),
    want: {
      owner: 200,
      anotherUser: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'POST /budgets': {
    target: ({ agent }) => ({
      path: '/budgets',
      body: { agentId: agent.id, metric: 'calls', limit: 1000, window: 'day' },
    }),
    want: { owner: 201, anotherUser: 404, gatewayAgent: 201, admin: 201 },
  },
  'GET /budgets': {
    target: fixed('/budgets'),
    want: { owner: 200, anotherUser: 200, gatewayAgent: 200, admin: 200 },
  },
  'GET /budgets/:id': {
    target: async (s) => ({ path: `/budgets/${await budget(s)}` }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'PATCH /budgets/:id': {
    target: async (s) => ({ path: `/budgets/${await budget(s)}`, body: { limit: 5 } }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'DELETE /budgets/:id': {
    target: async (s) => ({ path: `/budgets/${await budget(s)}` }),
    want: { owner: 204, anotherUser: 404, gatewayAgent: 204, admin: 204 },
  },
  // SCIM is for administrators, also with an API token that is narrowed to `scim`.
  'GET /scim/v2/Users': {
    scope: 'scim',
    target: fixed('/scim/v2/Users'),
    want: { admin: 200 },
  },
  'POST /scim/v2/Users': {
    scope: 'scim',
    target: () => ({ path: '/scim/v2/Users', body: { userName: `${newId('request', 0)}@example.com` } }),
    want: { admin: 201 },
  },
  'GET /scim/v2/Users/:id': {
    scope: 'scim',
    target: ({ owner }) => ({ path: `/scim/v2/Users/${owner.id}` }),
    want: { admin: 200 },
  },
  'PUT /scim/v2/Users/:id': {
    scope: 'scim',
    target: ({ owner }) => ({
      path: `/scim/v2/Users/${owner.id}`,
      body: { userName: owner.email, displayName: 'Ada' },
    }),
    want: { admin: 200 },
  },
  'PATCH /scim/v2/Users/:id': {
    scope: 'scim',
    target: ({ owner }) => ({
      path: `/scim/v2/Users/${owner.id}`,
      body: { Operations: [{ op: 'replace', path: 'displayName', value: 'Ada' }] },
    }),
    want: { admin: 200 },
  },
  'DELETE /scim/v2/Users/:id': {
    scope: 'scim',
    target: async ({ t }) => ({ path: `/scim/v2/Users/${(await t.user()).id}` }),
    want: { admin: 204 },
  },
  'GET /scim/v2/Groups': {
    scope: 'scim',
    target: fixed('/scim/v2/Groups'),
    want: { admin: 200 },
  },
  'POST /scim/v2/Groups': {
    scope: 'scim',
    target: () => ({ path: '/scim/v2/Groups', body: { displayName: newId('request', 0) } }),
    want: { admin: 201 },
  },
  'GET /scim/v2/Groups/:id': {
    scope: 'scim',
    target: async (s) => ({ path: `/scim/v2/Groups/${await scimGroup(s)}` }),
    want: { admin: 200 },
  },
  'PUT /scim/v2/Groups/:id': {
    scope: 'scim',
    target: async (s) => ({
      path: `/scim/v2/Groups/${await scimGroup(s)}`,
      body: { displayName: newId('request', 0) },
    }),
    want: { admin: 200 },
  },
  'PATCH /scim/v2/Groups/:id': {
    scope: 'scim',
    target: async (s) => ({
      path: `/scim/v2/Groups/${await scimGroup(s)}`,
      body: { Operations: [{ op: 'add', path: 'externalId', value: 'x' }] },
    }),
    want: { admin: 200 },
  },
  'DELETE /scim/v2/Groups/:id': {
    scope: 'scim',
    target: async (s) => ({ path: `/scim/v2/Groups/${await scimGroup(s)}` }),
    want: { admin: 204 },
  },
  'GET /scim/v2/ServiceProviderConfig': {
    target: fixed('/scim/v2/ServiceProviderConfig'),
    want: { everyone: 200 },
  },
  'GET /scim/v2/ResourceTypes': {
    target: fixed('/scim/v2/ResourceTypes'),
    want: { everyone: 200 },
  },
  'GET /scim/v2/ResourceTypes/:id': {
    target: fixed('/scim/v2/ResourceTypes/User'),
    want: { everyone: 200 },
  },
  'GET /scim/v2/Schemas': {
    target: fixed('/scim/v2/Schemas'),
    want: { everyone: 200 },
  },
  'GET /scim/v2/Schemas/:id': {
    target: fixed('/scim/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:User'),
    want: { everyone: 200 },
  },
  // The authorization server: public endpoints authenticate clients, not callers. The first path is tested for all
  // paths.
  'GET /.well-known/oauth-authorization-server': {
    target: fixed('/.well-known/oauth-authorization-server'),
    want: { everyone: 200 },
  },
  'GET /.well-known/oauth-authorization-server/:path{.+}': {
    target: fixed('/.well-known/oauth-authorization-server/x'),
    want: { everyone: 404 },
  },
  'GET /api/legate/oauth/authorize': {
    target: fixed('/api/legate/oauth/authorize'),
    want: { everyone: 400 },
  },
  'GET /api/legate/oauth/authorize/consent': {
    target: fixed('/api/legate/oauth/authorize/consent'),
    want: { everyone: 400 },
  },
  'POST /api/legate/oauth/authorize/consent': {
    target: fixed('/api/legate/oauth/authorize/consent', new URLSearchParams({ decision: 'allow' })),
    want: { everyone: 400 },
  },
  'POST /api/legate/oauth/token': {
    target: fixed('/api/legate/oauth/token', new URLSearchParams({ code: 'x' })),
    want: { everyone: 400 },
  },
  'POST /api/legate/oauth/register': {
    target: fixed('/api/legate/oauth/register', { redirect_uris: ['https://app.example/callback'] }),
    want: { everyone: 201 },
  },
  'POST /api/legate/oauth/revoke': {
    target: fixed('/api/legate/oauth/revoke', new URLSearchParams({ token: 'x' })),
    want: { everyone: 401 },
  },
  'POST /api/legate/oauth/introspect': {
    target: fixed('/api/legate/oauth/introspect', new URLSearchParams({ token: 'x' })),
    want: { ownerByCookie: 401, admin: 200, auditor: 200 },
  },
  'POST /api/legate/oauth/device_authorization': {
    target: fixed('/api/legate/oauth/device_authorization', new URLSearchParams({ scope: 'mcp:read' })),
    want: { everyone: 401 },
  },
  'GET /device': {
    target: fixed('/device'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  // The code is wrong.
  'POST /device': {
    target: fixed('/device', new URLSearchParams({ user_code: 'WDJB-MJHT' })),
    want: { nobody: 303, owner: 400, anotherUser: 400, admin: 400 },
  },
  'GET /api/legate/oauth/jwks': {
    target: fixed('/api/legate/oauth/jwks'),
    want: { everyone: 200 },
  },
  // The authorization request names no client.
  'GET /oauth/consent': {
    target: fixed('/oauth/consent'),
    want: { owner: 400, anotherUser: 400, admin: 400 },
  },
  'POST /oauth/consent': {
    target: fixed('/oauth/consent', { decision: 'deny', consentToken: 'x' }),
    want: { owner: 400, anotherUser: 400, admin: 400 },
  },
  'GET /oauth/grants': {
    target: fixed('/oauth/grants'),
    want: { owner: 200, anotherUser: 200, admin: 200 },
  },
  'GET /oauth/grants/:id': {
    target: async (s) => ({ path: `/oauth/grants/${await grant(s)}` }),
    want: { owner: 200, anotherUser: 404, admin: 200 },
  },
  'DELETE /oauth/grants/:id': {
    target: async (s) => ({ path: `/oauth/grants/${await grant(s)}` }),
    want: { owner: 204, anotherUser: 404, admin: 204 },
  },
  'POST /oauth/clients': {
    target: fixed('/oauth/clients', { redirect_uris: ['https://app.example/callback'] }),
    want: { admin: 201 },
  },
  'GET /oauth/clients': {
    target: fixed('/oauth/clients'),
    want: { admin: 200 },
  },
  'GET /oauth/clients/:id': {
    target: async (s) => ({ path: `/oauth/clients/${await client(s)}` }),
    want: { admin: 200 },
  },
  'DELETE /oauth/clients/:id': {
    target: async (s) => ({ path: `/oauth/clients/${await client(s)}` }),
    want: { admin: 204 },
  },
  'GET /account/apps': {
    target: fixed('/account/apps'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'POST /account/apps': {
    target: async (s) => ({ path: '/account/apps', body: new URLSearchParams({ grant: await grant(s) }) }),
    want: { nobody: 303, owner: 303, anotherUser: 404, admin: 404 },
  },
  // For an agent that the caller cannot see, the decision is false and searches find nothing.
  'POST /access/v1/evaluation': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/evaluation',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'POST /access/v1/evaluations': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/evaluations',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'POST /access/v1/search/subject': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/search/subject',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
      auditor: 200,
    },
  },
  'POST /access/v1/search/resource': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/search/resource',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
      auditor: 200,
    },
  },
  'POST /access/v1/search/action': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/search/action',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
      auditor: 200,
    },
  },
  'GET /.well-known/authzen-configuration': {
    target: fixed('/.well-known/authzen-configuration'),
    want: { everyone: 200 },
  },
  'POST /agents/:id/permissions/replay': {
    scope: 'audit:read',
    target: ({ agent }) => ({ path: `/agents/${agent.id}/permissions/replay`, body: { permissions: [] } }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
      auditor: 200,
    },
  },
  'POST /agents/:id/permissions/filter': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: `/agents/${agent.id}/permissions/filter`,
      body: { resources: ['db:x'], action: 'read' },
    }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
      auditor: 200,
    },
  },
  'GET /permissions/subjects': {
    scope: 'authorize',
    target: fixed('/permissions/subjects?action=read&resource=db:x'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  // Errors of the query are reported before the credential is checked. src/activity/stream/stream.test.ts tests who
  // sees what.
  'GET /api/legate/events/stream': {
    target: fixed('/api/legate/events/stream?types=nonsense'),
    want: { everyone: 400 },
  },
  'POST /events/ticket': {
    scope: 'events:read',
    target: fixed('/events/ticket'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
      auditor: 200,
    },
  },
  'GET /events': {
    scope: 'events:read',
    target: fixed('/events'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  // No scope gives access to webhooks, and an agent needs a permission for them.
  'POST /webhooks': {
    target: fixed('/webhooks', { url: 'http://127.0.0.1:9/in' }),
    want: { owner: 201, anotherUser: 201, gatewayAgent: 201, admin: 201 },
  },
  'GET /webhooks': {
    target: fixed('/webhooks'),
    want: { owner: 200, anotherUser: 200, gatewayAgent: 200, admin: 200 },
  },
  'GET /webhooks/:id': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}` }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'PATCH /webhooks/:id': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}`, body: { enabled: false } }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'DELETE /webhooks/:id': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}` }),
    want: { owner: 204, anotherUser: 404, gatewayAgent: 204, admin: 204 },
  },
  'POST /webhooks/:id/test': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}/test` }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'POST /webhooks/:id/rotate': {
    // An agent cannot see the secret of a webhook that a person has created.
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}/rotate` }),
    want: { owner: 200, anotherUser: 404, admin: 200 },
  },
  'GET /webhooks/:id/deliveries': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}/deliveries` }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'GET /webhooks/deliveries/:id': {
    target: async (s) => ({ path: `/webhooks/deliveries/${await delivery(s)}` }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'POST /webhooks/:id/recover': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}/recover`, body: { since: '2020-01-01' } }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'POST /webhooks/deliveries/:id/redeliver': {
    target: async (s) => ({ path: `/webhooks/deliveries/${await delivery(s)}/redeliver` }),
    want: { owner: 200, anotherUser: 404, gatewayAgent: 200, admin: 200 },
  },
  'GET /anomalies': {
    scope: 'audit:read',
    target: fixed('/anomalies'),
    want: { owner: 200, anotherUser: 200, narrowed: 200, gatewayAgent: 200, admin: 200 },
  },
  'GET /anomalies/:id': {
    scope: 'audit:read',
    target: async (s) => ({ path: `/anomalies/${await anomaly(s)}` }),
    want: { owner: 200, anotherUser: 404, narrowed: 200, gatewayAgent: 200, admin: 200 },
  },
  'POST /anomalies/:id/acknowledge': {
    target: async (s) => ({ path: `/anomalies/${await anomaly(s)}/acknowledge` }),
    want: { owner: 200, anotherUser: 404, admin: 200 },
  },
  'POST /agents': {
    scope: 'agents:write',
    target: ({ owner }) => ({ path: '/agents', body: { ownerId: owner.id, name: 'n', type: 'service' } }),
    want: { owner: 201, narrowed: 201, gatewayAgent: 201, admin: 201 },
  },
  'GET /agents': {
    scope: 'agents:read',
    target: fixed('/agents'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /agents/:id': {
    scope: 'agents:read',
    target: ({ agent }) => ({ path: `/agents/${agent.id}` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'GET /agents/:id/history': {
    scope: 'agents:read',
    target: ({ agent }) => ({ path: `/agents/${agent.id}/history` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'PATCH /agents/:id': {
    scope: 'agents:write',
    target: ({ agent }) => ({ path: `/agents/${agent.id}`, body: { name: 'x' } }),
    want: { owner: 200, anotherUser: 404, narrowed: 200, gatewayAgent: 200, admin: 200 },
  },
  'DELETE /agents/:id': {
    scope: 'agents:write',
    target: ({ agent }) => ({ path: `/agents/${agent.id}` }),
    want: { owner: 204, anotherUser: 404, narrowed: 204, gatewayAgent: 204, admin: 204 },
  },
  'POST /agents/revoke': {
    scope: 'agents:write',
    target: ({ agent }) => ({ path: '/agents/revoke', body: { agentIds: [agent.id] } }),
    want: { owner: 204, anotherUser: 404, narrowed: 204, gatewayAgent: 204, admin: 204 },
  },
  'POST /agents/:id/rotate': {
    scope: 'agents:write',
    target: ({ agent }) => ({ path: `/agents/${agent.id}/rotate` }),
    want: { owner: 200, anotherUser: 404, narrowed: 200, gatewayAgent: 200, admin: 200 },
  },
  'GET /agents/:id/permissions': {
    scope: 'agents:read',
    target: ({ agent }) => ({ path: `/agents/${agent.id}/permissions` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'POST /delegations': {
    scope: 'delegations:write',
    target: ({ agent, other }) => ({
      path: '/delegations',
      body: { fromAgent: agent.id, toAgent: other.id, permissions: [{ resource: 'db:*', actions: ['read'] }] },
    }),
    want: {
      owner: 201,
      anotherUser: 404,
      narrowed: 201,
      agentItself: 201,
      otherAgent: 404,
      gatewayAgent: 201,
      strangersAgent: 404,
      admin: 201,
    },
  },
  'GET /delegations': {
    scope: 'delegations:read',
    target: fixed('/delegations'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /delegations/graph': {
    scope: 'delegations:read',
    target: ({ agent }) => ({ path: `/delegations/graph?agentId=${agent.id}` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'GET /delegations/:id': {
    scope: 'delegations:read',
    target: async (s) => ({ path: `/delegations/${await delegation(s)}` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'GET /delegations/:id/history': {
    scope: 'delegations:read',
    target: async (s) => ({ path: `/delegations/${await delegation(s)}/history` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'DELETE /delegations/:id': {
    scope: 'delegations:write',
    target: async (s) => ({ path: `/delegations/${await delegation(s)}` }),
    want: {
      owner: 204,
      anotherUser: 404,
      narrowed: 204,
      agentItself: 204,
      otherAgent: 404,
      gatewayAgent: 204,
      strangersAgent: 404,
      admin: 204,
    },
  },
  // No scope gives access to approvals.
  'GET /approvals': {
    target: fixed('/approvals'),
    want: {
      owner: 200,
      anotherUser: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /approvals/:id': {
    target: async (s) => ({ path: `/approvals/${await approval(s)}` }),
    want: {
      owner: 200,
      anotherUser: 404,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  // Only a person can approve, never an agent.
  'POST /approvals/:id/approve': {
    target: async (s) => ({ path: `/approvals/${await approval(s)}/approve` }),
    want: { owner: 200, anotherUser: 404, admin: 200 },
  },
  'POST /approvals/:id/deny': {
    target: async (s) => ({ path: `/approvals/${await approval(s)}/deny` }),
    want: { owner: 200, anotherUser: 404, admin: 200 },
  },
  'GET /account/approvals/:id': {
    target: async (s) => ({ path: `/account/approvals/${await approval(s)}` }),
    want: { nobody: 303, owner: 200, anotherUser: 404, admin: 200 },
  },
  'POST /account/approvals/:id': {
    target: async (s) => ({
      path: `/account/approvals/${await approval(s)}`,
      body: new URLSearchParams({ decision: 'deny' }),
    }),
    want: { nobody: 303, owner: 303, anotherUser: 404, admin: 303 },
  },
  'GET /changes': {
    scope: 'audit:read',
    target: fixed('/changes'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /audit': {
    scope: 'audit:read',
    target: fixed('/audit'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /audit/export': {
    scope: 'audit:read',
    target: fixed('/audit/export?format=json'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /audit/histogram': {
    scope: 'audit:read',
    target: fixed('/audit/histogram'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /audit/facets': {
    scope: 'audit:read',
    target: fixed('/audit/facets?by=reason'),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /audit/:id': {
    scope: 'audit:read',
    target: async (s) => ({ path: `/audit/${await decided(s)}` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'GET /audit/:id/explain': {
    scope: 'audit:read',
    target: async (s) => ({ path: `/audit/${await decided(s)}/explain` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'POST /audit/erasures': {
    target: async (s) => ({ path: '/audit/erasures', body: { auditIds: [await decided(s)] } }),
    want: { admin: 200 },
  },
  'GET /audit/:id/proof': {
    scope: 'audit:read',
    target: async (s) => ({ path: `/audit/${await decided(s)}/proof` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'POST /agents/:id/trust': {
    scope: 'agents:write',
    target: async (s) => ({ path: `/agents/${s.agent.id}/trust`, body: { ...(await workload(s)), subject: 'a:b' } }),
    want: {
      owner: 201,
      anotherUser: 404,
      narrowed: 201,
      gatewayAgent: 201,
      admin: 201,
    },
  },
  'GET /agents/:id/trust': {
    scope: 'agents:read',
    target: ({ agent }) => ({ path: `/agents/${agent.id}/trust` }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'GET /ledger/checkpoint': { target: fixed('/ledger/checkpoint'), want: { everyone: 200 } },
  'GET /ledger/tile/:tile{.+}': { target: fixed('/ledger/tile/0/000.p/1'), want: { everyone: 200 } },
  'GET /ledger/tile/entries/:tile{.+}': { target: fixed('/ledger/tile/entries/000.p/1'), want: { admin: 200 } },
  'GET /ledger/consistency': { target: fixed('/ledger/consistency?from=0'), want: { everyone: 200 } },
  'GET /ledger/keys': { target: fixed('/ledger/keys'), want: { everyone: 200 } },
  'GET /ledger/logs': { target: fixed('/ledger/logs'), want: { everyone: 200 } },
  'GET /ledger/status': { target: fixed('/ledger/status'), want: { admin: 200 } },
  'GET /ledger/proof': { target: fixed('/ledger/proof?seq=1'), want: { admin: 200 } },
  'GET /ledger/checkpoints': { target: fixed('/ledger/checkpoints?around=1'), want: { everyone: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/checkpoint': { target: ofLog('checkpoint'), want: { everyone: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/tile/entries/:tile{.+}': { target: ofLog('tile/entries/000.p/1'), want: { admin: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/tile/:tile{.+}': { target: ofLog('tile/0/000.p/1'), want: { everyone: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/consistency': { target: ofLog('consistency?from=0'), want: { everyone: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/checkpoints': { target: ofLog('checkpoints?around=1'), want: { everyone: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/keys': { target: ofLog('keys'), want: { everyone: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/logs': { target: ofLog('logs'), want: { everyone: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/status': { target: ofLog('status'), want: { admin: 200 } },
  'GET /ledger/:log{[0-9a-f]+}/proof': { target: ofLog('proof?seq=1'), want: { admin: 200 } },
  'DELETE /agents/:id/trust': {
    scope: 'agents:write',
    target: async (s) => {
      await trust(s);
      return { path: `/agents/${s.agent.id}/trust` };
    },
    want: {
      owner: 204,
      anotherUser: 404,
      narrowed: 204,
      gatewayAgent: 204,
      admin: 204,
    },
  },
  'DELETE /agents/:id/trust/:trustId': {
    scope: 'agents:write',
    target: async (s) => ({ path: `/agents/${s.agent.id}/trust/${await trust(s)}` }),
    want: {
      owner: 204,
      anotherUser: 404,
      narrowed: 204,
      gatewayAgent: 204,
      admin: 204,
    },
  },
  'PUT /agents/:id/keys': {
    scope: 'agents:write',
    target: ({ agent }) => ({ path: `/agents/${agent.id}/keys`, body: AGENT_KEYS }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      gatewayAgent: 200,
      admin: 200,
    },
  },
  'GET /agents/:id/keys': {
    scope: 'agents:read',
    target: async (s) => ({ path: await keysPath(s) }),
    want: {
      owner: 200,
      anotherUser: 404,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 404,
      gatewayAgent: 200,
      strangersAgent: 404,
      admin: 200,
    },
  },
  'DELETE /agents/:id/keys': {
    scope: 'agents:write',
    target: async (s) => ({ path: await keysPath(s) }),
    want: {
      owner: 204,
      anotherUser: 404,
      narrowed: 204,
      gatewayAgent: 204,
      admin: 204,
    },
  },
  'POST /issuers': {
    target: () => ({ path: '/issuers', body: newIssuer() }),
    want: { admin: 201 },
  },
  'GET /issuers': {
    target: fixed('/issuers'),
    want: { admin: 200 },
  },
  'GET /issuers/:id': {
    target: async (s) => ({ path: `/issuers/${await issuer(s)}` }),
    want: { admin: 200 },
  },
  'PATCH /issuers/:id': {
    target: async (s) => ({ path: `/issuers/${await issuer(s)}`, body: { algorithms: ['ES384'] } }),
    want: { admin: 200 },
  },
  'DELETE /issuers/:id': {
    target: async (s) => ({ path: `/issuers/${await issuer(s)}` }),
    want: { admin: 204 },
  },
  'POST /mcp/servers': {
    target: () => ({ path: '/mcp/servers', body: mcpServer() }),
    want: { admin: 201 },
  },
  'GET /mcp/servers': {
    target: fixed('/mcp/servers'),
    want: { admin: 200 },
  },
  'GET /mcp/servers/:id': {
    target: async (s) => ({ path: `/mcp/servers/${await registered(s)}` }),
    want: { admin: 200 },
  },
  'PATCH /mcp/servers/:id': {
    target: async (s) => ({ path: `/mcp/servers/${await registered(s)}`, body: { tools: [] } }),
    want: { admin: 200 },
  },
  'DELETE /mcp/servers/:id': {
    target: async (s) => ({ path: `/mcp/servers/${await registered(s)}` }),
    want: { admin: 204 },
  },
  // No server is configured here. src/mcp/gateway/relay.test.ts and pins/pins.test.ts configure some.
  'GET /gateway/servers': { target: fixed('/gateway/servers'), want: { admin: 200 } },
  'GET /gateway/servers/:name/tools': { target: fixed('/gateway/servers/pinned/tools'), want: { admin: 404 } },
  'POST /gateway/servers/:name/tools/:tool/approve': {
    target: fixed('/gateway/servers/pinned/tools/read/approve', {}),
    want: { admin: 404 },
  },
  'POST /gateway/servers/:name/tools/:tool/block': {
    target: fixed('/gateway/servers/pinned/tools/read/block', {}),
    want: { admin: 404 },
  },
  'POST /gateway/servers/:name/restart': {
    target: fixed('/gateway/servers/pinned/restart', {}),
    want: { admin: 404 },
  },
  'GET /gateway/connections': {
    target: fixed('/gateway/connections'),
    want: { owner: 200, anotherUser: 200, admin: 200 },
  },
  'PUT /gateway/connections/:name': {
    target: fixed('/gateway/connections/notes', { fields: { token: 'x' } }),
    want: { owner: 404, anotherUser: 404, admin: 404 },
  },
  'DELETE /gateway/connections/:name': {
    target: fixed('/gateway/connections/notes'),
    want: { owner: 404, anotherUser: 404, admin: 404 },
  },
  'GET /gateway/:name/connect': {
    target: fixed('/gateway/notes/connect'),
    want: { nobody: 303, owner: 404, anotherUser: 404, admin: 404 },
  },
  'POST /gateway/:name/connect': {
    target: () => ({ path: '/gateway/notes/connect', body: new URLSearchParams({ action: 'connect' }) }),
    want: { nobody: 303, owner: 404, anotherUser: 404, admin: 404 },
  },
  'GET /gateway/callback': {
    target: fixed('/gateway/callback?code=x&state=y'),
    want: { nobody: 303, owner: 400, anotherUser: 400, admin: 400 },
  },
  'GET /gateway/client-metadata.json': { target: fixed('/gateway/client-metadata.json'), want: { everyone: 200 } },
  'GET /account/servers': {
    target: fixed('/account/servers'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'POST /gateway/:name/mcp': { target: fixed('/gateway/notes/mcp', {}), want: { everyone: 404 } },
  'GET /gateway/:name/mcp': { target: fixed('/gateway/notes/mcp'), want: { everyone: 404 } },
  'DELETE /gateway/:name/mcp': { target: fixed('/gateway/notes/mcp'), want: { everyone: 404 } },
  'GET /.well-known/oauth-protected-resource': {
    target: fixed('/.well-known/oauth-protected-resource'),
    want: { everyone: 200 },
  },
  'GET /.well-known/oauth-protected-resource/:path{.+}': {
    target: async (s) => ({ path: `/.well-known/oauth-protected-resource${await registeredPath(s)}` }),
    want: { everyone: 200 },
  },
  // The response omits everything that the caller may not see.
  'GET /names': {
    scope: 'agents:read',
    target: ({ agent }) => ({ path: `/names?ids=${agent.id}` }),
    want: {
      owner: 200,
      anotherUser: 200,
      narrowed: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /dashboard/attention': {
    scope: 'audit:read',
    target: fixed('/dashboard/attention'),
    want: { owner: 200, anotherUser: 200, narrowed: 200, gatewayAgent: 200, admin: 200 },
  },
  'GET /system': { target: fixed('/system'), want: { admin: 200 } },
  'GET /costs/series': {
    target: fixed('/costs/series'),
    want: {
      owner: 200,
      anotherUser: 200,
      agentItself: 200,
      otherAgent: 200,
      gatewayAgent: 200,
      strangersAgent: 200,
      admin: 200,
    },
  },
  'GET /dashboard/series': {
    scope: 'audit:read',
    target: fixed('/dashboard/series'),
    want: { owner: 200, anotherUser: 200, narrowed: 200, gatewayAgent: 200, admin: 200 },
  },
  'GET /dashboard/stats': {
    scope: 'audit:read',
    target: fixed('/dashboard/stats'),
    want: { owner: 200, anotherUser: 200, narrowed: 200, gatewayAgent: 200, admin: 200 },
  },
  'GET /health/live': {
    target: fixed('/health/live'),
    want: { everyone: 200 },
  },
  'GET /health/ready': {
    target: fixed('/health/ready'),
    want: { everyone: 200 },
  },
  'GET /openapi.json': {
    target: fixed('/openapi.json'),
    want: { everyone: 200 },
  },
  'GET /docs': { target: fixed('/docs'), want: { everyone: 200 } },
  'GET /docs/:file': {
    target: fixed('/docs/swagger-ui.css'),
    want: { everyone: 200 },
  },
  'GET /console': {
    target: fixed('/console'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'GET /console/:path{.*}': {
    target: fixed('/console/audit'),
    want: { nobody: 303, owner: 200, anotherUser: 200, admin: 200 },
  },
  'GET /console/assets/:file': {
    target: fixed('/console/assets/none.js'),
    want: { everyone: 404 },
  },
  'GET /metrics': {
    target: fixed('/metrics'),
    want: { admin: 200 },
  },
};
