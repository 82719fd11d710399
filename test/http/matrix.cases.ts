import {
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
  mcpServer,
  question,
  registered,
  registeredPath,
  type Scene,
  session,
  webhook,
} from './matrix.scene.ts';

/** What the row addresses: made anew for each caller, and always the owner's. */
export interface Target {
  readonly path: string;
  /** URLSearchParams are sent as a form. */
  readonly body?: unknown;
}

export interface Row {
  /** Scope that the narrowed token has. */
  readonly scope?: string;
  readonly target: (scene: Scene) => Promise<Target> | Target;
  /** One status for each caller; spaces are for the eye. */
  readonly want: string;
}

const fixed = (path: string, body?: unknown) => (): Target => (body === undefined ? { path } : { path, body });

/**
 * Every endpoint and every kind of caller (contract 4). An endpoint without a row fails the test, and so does a row without an
 * endpoint.
 */
export const matrix: Readonly<Record<string, Row>> = {
  // In the order of CALLERS: no credential that holds; people; agents; an admin.
  'POST /authorize': {
    scope: 'authorize',
    target: ({ agent }) => ({ path: '/authorize', body: { agentId: agent.id, ...question } }),
    want: '401 401 401 401 401 401  404 200 200 200 403  200 404 200 404  200',
  },
  // An agent that the caller cannot see is an error in its place of the answer.
  'POST /authorize/batch': {
    scope: 'authorize',
    target: ({ agent }) => ({ path: '/authorize/batch', body: { requests: [{ agentId: agent.id, ...question }] } }),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'POST /tenants': {
    target: fixed('/tenants', { name: 'Acme', slug: 'acme' }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  201',
  },
  'GET /tenants': {
    target: fixed('/tenants'),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'GET /tenants/:id': {
    target: async ({ t }) => ({ path: `/tenants/${await t.tenant()}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  // Public, so credentials are not looked at.
  'POST /sign-up': {
    target: ({ owner }) => ({ path: '/sign-up', body: { email: `new-${owner.email}`, password: 'long enough' } }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  // An address of its own for each caller: guesses are bounded for each account, known or not.
  'POST /sign-in': {
    target: ({ owner }) => ({ path: '/sign-in', body: { email: `nobody-${owner.email}`, password: 'long enough' } }),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  // An API token is no session that could end.
  'POST /sign-out': {
    target: fixed('/sign-out'),
    want: '401 401 401 401 401 401  403 403 204 403 403  403 403 403 403  403',
  },
  'GET /auth/session': {
    target: fixed('/auth/session'),
    want: '401 401 401 401 401 401  200 200 200 403 403  403 403 403 403  200',
  },
  // Public; the same answer whoever is known.
  'POST /magic-link': {
    target: fixed('/magic-link', { email: 'nobody@example.com' }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /magic-link/verify': {
    target: fixed('/magic-link/verify?token=lgo_x'),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'POST /magic-link/verify': {
    target: fixed('/magic-link/verify', { token: 'lgo_x' }),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'POST /email-otp': {
    target: fixed('/email-otp', { email: 'nobody@example.com' }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'POST /email-otp/verify': {
    target: ({ owner }) => ({ path: '/email-otp/verify', body: { email: `nobody-${owner.email}`, otp: '123456' } }),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'POST /password/forgot': {
    target: fixed('/password/forgot', { email: 'nobody@example.com' }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /password/reset': {
    target: fixed('/password/reset?token=lgo_x'),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'POST /password/reset': {
    target: fixed('/password/reset', { token: 'lgo_x', newPassword: 'long enough' }),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'POST /verify-email/send': {
    target: fixed('/verify-email/send', { email: 'nobody@example.com' }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /verify-email': {
    target: fixed('/verify-email?token=lgo_x'),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'POST /verify-email': {
    target: fixed('/verify-email', { token: 'lgo_x' }),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'POST /invites': {
    target: ({ owner }) => ({ path: '/invites', body: { email: `invited-${owner.email}` } }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  201',
  },
  'GET /invites': {
    target: fixed('/invites'),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'DELETE /invites/:id': {
    target: async (s) => ({ path: `/invites/${await invite(s)}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  204',
  },
  'POST /password/change': {
    target: fixed('/password/change', { currentPassword: 'long enough', newPassword: 'longer enough' }),
    want: '401 401 401 401 401 401  403 403 401 403 403  403 403 403 403  403',
  },
  // Of people with a session; whoever the owner is, they have no password here.
  'POST /totp/enable': {
    target: fixed('/totp/enable', { password: 'long enough' }),
    want: '401 401 401 401 401 401  403 403 401 403 403  403 403 403 403  403',
  },
  'POST /totp/verify': {
    target: fixed('/totp/verify', { code: '123456' }),
    want: '401 401 401 401 401 401  403 403 409 403 403  403 403 403 403  403',
  },
  'DELETE /users/:id/second-factor': {
    target: ({ owner }) => ({ path: `/users/${owner.id}/second-factor` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  204',
  },
  'POST /totp/disable': {
    target: fixed('/totp/disable', { password: 'long enough' }),
    want: '401 401 401 401 401 401  403 403 401 403 403  403 403 403 403  403',
  },
  // An API token has the sessions of its user, and none of them is its own. Those of others are for administrators.
  'GET /auth/sessions': {
    target: fixed('/auth/sessions'),
    want: '401 401 401 401 401 401  200 200 200 403 403  403 403 403 403  200',
  },
  'DELETE /auth/sessions/:id': {
    target: async (s) => ({ path: `/auth/sessions/${await session(s)}` }),
    want: '401 401 401 401 401 401  404 204 204 403 403  403 403 403 403  404',
  },
  'DELETE /auth/sessions': {
    target: fixed('/auth/sessions'),
    want: '401 401 401 401 401 401  200 200 200 403 403  403 403 403 403  200',
  },
  'GET /users/:id/sessions': {
    target: ({ owner }) => ({ path: `/users/${owner.id}/sessions` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'DELETE /users/:id/sessions': {
    target: ({ owner }) => ({ path: `/users/${owner.id}/sessions` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'DELETE /users/:id/sessions/:sid': {
    target: async (s) => ({ path: `/users/${s.owner.id}/sessions/${await session(s)}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  204',
  },
  'GET /users': { target: fixed('/users'), want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200' },
  'GET /users/:id': {
    target: ({ owner }) => ({ path: `/users/${owner.id}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'PATCH /users/:id': {
    target: ({ owner }) => ({ path: `/users/${owner.id}`, body: { name: 'x' } }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'DELETE /users/:id': {
    target: ({ owner }) => ({ path: `/users/${owner.id}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  204',
  },
  // Pages. Whoever has to be signed in, and sends no credential of another kind, is led to the sign-in page.
  'GET /account/sign-in': {
    target: fixed('/account/sign-in'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'POST /account/sign-in': {
    target: ({ owner }) => ({
      path: '/account/sign-in',
      body: { email: `nobody-${owner.email}`, password: 'long enough' },
    }),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'GET /account/sign-up': {
    target: fixed('/account/sign-up'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'POST /account/sign-up': {
    target: ({ owner }) => ({
      path: '/account/sign-up',
      body: { email: `page-${owner.email}`, password: 'long enough' },
    }),
    want: '303 303 303 303 303 303 303 303 303 303 303 303 303 303 303 303',
  },
  // Nobody is between the two steps of a sign-in.
  'GET /account/second-factor': {
    target: fixed('/account/second-factor'),
    want: '400 400 400 400 400 400 400 400 400 400 400 400 400 400 400 400',
  },
  'POST /account/second-factor': {
    target: fixed('/account/second-factor', { code: '123456' }),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'GET /account/magic-link': {
    target: fixed('/account/magic-link'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'POST /account/magic-link': {
    target: fixed('/account/magic-link', { email: 'nobody@example.com' }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /account/forgot-password': {
    target: fixed('/account/forgot-password'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'POST /account/forgot-password': {
    target: fixed('/account/forgot-password', { email: 'nobody@example.com' }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /account/verify-email': {
    target: fixed('/account/verify-email'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'POST /account/verify-email': {
    target: fixed('/account/verify-email', { email: 'nobody@example.com' }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /': {
    target: fixed('/'),
    want: '404 404 404 404 404 404  404 404 404 404 404  404 404 404 404  404',
  },
  'GET /account': {
    target: fixed('/account'),
    want: '303 401 401 401 401 401  200 200 200 403 403  403 403 403 403  200',
  },
  'GET /account/devices': {
    target: fixed('/account/devices'),
    want: '303 401 401 401 401 401  200 200 200 403 403  403 403 403 403  200',
  },
  'POST /account/devices': {
    target: fixed('/account/devices', {}),
    want: '401 401 401 401 401 401  303 303 303 403 403  403 403 403 403  303',
  },
  'POST /account/sign-out': {
    target: fixed('/account/sign-out', {}),
    want: '401 401 401 401 401 401  403 403 303 403 403  403 403 403 403  403',
  },
  // There are users, so no set-up link is valid.
  'GET /setup': {
    target: fixed('/setup?token=lgu_x'),
    want: '410 410 410 410 410 410 410 410 410 410 410 410 410 410 410 410',
  },
  'POST /setup': {
    target: fixed('/setup', { token: 'lgu_x', email: 'a@example.com', password: 'long enough' }),
    want: '410 410 410 410 410 410 410 410 410 410 410 410 410 410 410 410',
  },
  'POST /api-tokens': {
    target: fixed('/api-tokens', { name: 'x' }),
    want: '401 401 401 401 401 401  201 201 201 403 403  403 403 403 403  201',
  },
  'GET /api-tokens': {
    target: fixed('/api-tokens'),
    want: '401 401 401 401 401 401  200 200 200 403 403  403 403 403 403  200',
  },
  'DELETE /api-tokens/:id': {
    target: async (s) => ({ path: `/api-tokens/${await apiToken(s)}` }),
    want: '401 401 401 401 401 401  404 204 204 403 403  403 403 403 403  204',
  },
  // No scope opens costs and budgets; an agent sees and records its own costs, and only its owner sets its limits.
  'POST /costs': {
    target: ({ agent }) => ({ path: '/costs', body: { agentId: agent.id, amount: 1 } }),
    want: '401 401 401 401 401 401  404 201 201 403 403  201 404 201 404  201',
  },
  'GET /costs': { target: fixed('/costs'), want: '401 401 401 401 401 401  200 200 200 403 403  200 200 200 200  200' },
  'GET /costs/summary': {
    target: fixed('/costs/summary'),
    want: '401 401 401 401 401 401  200 200 200 403 403  200 200 200 200  200',
  },
  'POST /budgets': {
    target: ({ agent }) => ({
      path: '/budgets',
      body: { agentId: agent.id, metric: 'calls', limit: 1000, window: 'day' },
    }),
    want: '401 401 401 401 401 401  404 201 201 403 403  403 403 201 403  201',
  },
  'GET /budgets': {
    target: fixed('/budgets'),
    want: '401 401 401 401 401 401  200 200 200 403 403  403 403 200 403  200',
  },
  'GET /budgets/:id': {
    target: async (s) => ({ path: `/budgets/${await budget(s)}` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 200 403  200',
  },
  'PATCH /budgets/:id': {
    target: async (s) => ({ path: `/budgets/${await budget(s)}`, body: { limit: 5 } }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 200 403  200',
  },
  'DELETE /budgets/:id': {
    target: async (s) => ({ path: `/budgets/${await budget(s)}` }),
    want: '401 401 401 401 401 401  404 204 204 403 403  403 403 204 403  204',
  },
  // The authorization server: public endpoints judge clients, not callers. Of its paths the first stands for all.
  'GET /.well-known/oauth-authorization-server': {
    target: fixed('/.well-known/oauth-authorization-server'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /.well-known/oauth-authorization-server/:path{.+}': {
    target: fixed('/.well-known/oauth-authorization-server/x'),
    want: '404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404',
  },
  'GET /api/legate/oauth/authorize': {
    target: fixed('/api/legate/oauth/authorize'),
    want: '400 400 400 400 400 400 400 400 400 400 400 400 400 400 400 400',
  },
  'GET /api/legate/oauth/authorize/consent': {
    target: fixed('/api/legate/oauth/authorize/consent'),
    want: '400 400 400 400 400 400 400 400 400 400 400 400 400 400 400 400',
  },
  'POST /api/legate/oauth/authorize/consent': {
    target: fixed('/api/legate/oauth/authorize/consent', new URLSearchParams({ decision: 'allow' })),
    want: '400 400 400 400 400 400 400 400 400 400 400 400 400 400 400 400',
  },
  'POST /api/legate/oauth/token': {
    target: fixed('/api/legate/oauth/token', new URLSearchParams({ code: 'x' })),
    want: '400 400 400 400 400 400 400 400 400 400 400 400 400 400 400 400',
  },
  'POST /api/legate/oauth/register': {
    target: fixed('/api/legate/oauth/register', { redirect_uris: ['https://app.example/callback'] }),
    want: '201 201 201 201 201 201 201 201 201 201 201 201 201 201 201 201',
  },
  'POST /api/legate/oauth/revoke': {
    target: fixed('/api/legate/oauth/revoke', new URLSearchParams({ token: 'x' })),
    want: '401 401 401 401 401 401 401 401 401 401 401 401 401 401 401 401',
  },
  'POST /api/legate/oauth/introspect': {
    target: fixed('/api/legate/oauth/introspect', new URLSearchParams({ token: 'x' })),
    want: '401 401 401 401 401 401  403 403 401 403 403  403 403 403 403  200',
  },
  'GET /api/legate/oauth/jwks': {
    target: fixed('/api/legate/oauth/jwks'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  // The request that is asked about names no client.
  'GET /oauth/consent': {
    target: fixed('/oauth/consent'),
    want: '401 401 401 401 401 401  400 400 400 403 403  403 403 403 403  400',
  },
  'POST /oauth/consent': {
    target: fixed('/oauth/consent', { decision: 'deny', consentToken: 'x' }),
    want: '401 401 401 401 401 401  400 400 400 403 403  403 403 403 403  400',
  },
  'GET /oauth/grants': {
    target: fixed('/oauth/grants'),
    want: '401 401 401 401 401 401  200 200 200 403 403  403 403 403 403  200',
  },
  'DELETE /oauth/grants/:id': {
    target: async (s) => ({ path: `/oauth/grants/${await grant(s)}` }),
    want: '401 401 401 401 401 401  404 204 204 403 403  403 403 403 403  204',
  },
  'POST /oauth/clients': {
    target: fixed('/oauth/clients', { redirect_uris: ['https://app.example/callback'] }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  201',
  },
  'GET /oauth/clients': {
    target: fixed('/oauth/clients'),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'GET /oauth/clients/:id': {
    target: async (s) => ({ path: `/oauth/clients/${await client(s)}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'DELETE /oauth/clients/:id': {
    target: async (s) => ({ path: `/oauth/clients/${await client(s)}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  204',
  },
  'GET /account/apps': {
    target: fixed('/account/apps'),
    want: '303 401 401 401 401 401  200 200 200 403 403  403 403 403 403  200',
  },
  'POST /account/apps': {
    target: async (s) => ({ path: '/account/apps', body: new URLSearchParams({ grant: await grant(s) }) }),
    want: '303 401 401 401 401 401  404 303 303 403 403  403 403 403 403  404',
  },
  // An agent that the caller cannot see is a false decision, or not among what is found.
  'POST /access/v1/evaluation': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/evaluation',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'POST /access/v1/evaluations': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/evaluations',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'POST /access/v1/search/subject': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/search/subject',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'POST /access/v1/search/resource': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/search/resource',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'POST /access/v1/search/action': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: '/access/v1/search/action',
      body: { subject: { type: 'agent', id: agent.id }, action: { name: 'read' }, resource: { type: 'db', id: 'x' } },
    }),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'GET /.well-known/authzen-configuration': {
    target: fixed('/.well-known/authzen-configuration'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'POST /agents/:id/permissions/filter': {
    scope: 'authorize',
    target: ({ agent }) => ({
      path: `/agents/${agent.id}/permissions/filter`,
      body: { resources: ['db:x'], action: 'read' },
    }),
    want: '401 401 401 401 401 401  404 200 200 200 403  200 404 200 404  200',
  },
  'GET /permissions/subjects': {
    scope: 'authorize',
    target: fixed('/permissions/subjects?action=read&resource=db:x'),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  // What is wrong with the query is said before anybody is asked who they are; who sees what: src/activity/stream/stream.test.ts.
  'GET /api/legate/events/stream': {
    target: fixed('/api/legate/events/stream?types=nonsense'),
    want: '400 400 400 400 400 400 400 400 400 400 400 400 400 400 400 400',
  },
  'POST /events/ticket': {
    scope: 'events:read',
    target: fixed('/events/ticket'),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'GET /events': {
    scope: 'events:read',
    target: fixed('/events'),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  // No scope opens webhooks, and no agent has any without a permission for them.
  'POST /webhooks': {
    target: fixed('/webhooks', { url: 'http://127.0.0.1:9/in' }),
    want: '401 401 401 401 401 401  201 201 201 403 403  403 403 201 403  201',
  },
  'GET /webhooks': {
    target: fixed('/webhooks'),
    want: '401 401 401 401 401 401  200 200 200 403 403  403 403 200 403  200',
  },
  'GET /webhooks/:id': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 200 403  200',
  },
  'PATCH /webhooks/:id': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}`, body: { enabled: false } }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 200 403  200',
  },
  'DELETE /webhooks/:id': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}` }),
    want: '401 401 401 401 401 401  404 204 204 403 403  403 403 204 403  204',
  },
  'POST /webhooks/:id/test': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}/test` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 200 403  200',
  },
  'POST /webhooks/:id/rotate': {
    // An agent does not learn the secret of an address that a person has set.
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}/rotate` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 403 403  200',
  },
  'GET /webhooks/:id/deliveries': {
    target: async (s) => ({ path: `/webhooks/${await webhook(s)}/deliveries` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 200 403  200',
  },
  'POST /webhooks/deliveries/:id/redeliver': {
    target: async (s) => ({ path: `/webhooks/deliveries/${await delivery(s)}/redeliver` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 200 403  200',
  },
  'GET /anomalies': {
    scope: 'audit:read',
    target: fixed('/anomalies'),
    want: '401 401 401 401 401 401  200 200 200 200 403  403 403 200 403  200',
  },
  'GET /anomalies/:id': {
    scope: 'audit:read',
    target: async (s) => ({ path: `/anomalies/${await anomaly(s)}` }),
    want: '401 401 401 401 401 401  404 200 200 200 403  403 403 200 403  200',
  },
  'POST /anomalies/:id/acknowledge': {
    target: async (s) => ({ path: `/anomalies/${await anomaly(s)}/acknowledge` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 403 403  200',
  },
  'POST /agents': {
    scope: 'agents:write',
    target: ({ owner }) => ({ path: '/agents', body: { ownerId: owner.id, name: 'n', type: 'service' } }),
    want: '401 401 401 401 401 401  403 201 201 201 403  403 403 201 403  201',
  },
  'GET /agents': {
    scope: 'agents:read',
    target: fixed('/agents'),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'GET /agents/:id': {
    scope: 'agents:read',
    target: ({ agent }) => ({ path: `/agents/${agent.id}` }),
    want: '401 401 401 401 401 401  404 200 200 200 403  200 404 200 404  200',
  },
  'PATCH /agents/:id': {
    scope: 'agents:write',
    target: ({ agent }) => ({ path: `/agents/${agent.id}`, body: { name: 'x' } }),
    want: '401 401 401 401 401 401  404 200 200 200 403  403 403 200 403  200',
  },
  'DELETE /agents/:id': {
    scope: 'agents:write',
    target: ({ agent }) => ({ path: `/agents/${agent.id}` }),
    want: '401 401 401 401 401 401  404 204 204 204 403  403 403 204 403  204',
  },
  'POST /agents/:id/rotate': {
    scope: 'agents:write',
    target: ({ agent }) => ({ path: `/agents/${agent.id}/rotate` }),
    want: '401 401 401 401 401 401  404 200 200 200 403  403 403 200 403  200',
  },
  'GET /agents/:id/permissions': {
    scope: 'agents:read',
    target: ({ agent }) => ({ path: `/agents/${agent.id}/permissions` }),
    want: '401 401 401 401 401 401  404 200 200 200 403  200 404 200 404  200',
  },
  'POST /delegations': {
    scope: 'delegations:write',
    target: ({ agent, other }) => ({
      path: '/delegations',
      body: { fromAgent: agent.id, toAgent: other.id, permissions: [{ resource: 'db:*', actions: ['read'] }] },
    }),
    want: '401 401 401 401 401 401  404 201 201 201 403  201 404 201 404  201',
  },
  'GET /delegations': {
    scope: 'delegations:read',
    target: fixed('/delegations'),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'GET /delegations/:id': {
    scope: 'delegations:read',
    target: async (s) => ({ path: `/delegations/${await delegation(s)}` }),
    want: '401 401 401 401 401 401  404 200 200 200 403  200 404 200 404  200',
  },
  'DELETE /delegations/:id': {
    scope: 'delegations:write',
    target: async (s) => ({ path: `/delegations/${await delegation(s)}` }),
    want: '401 401 401 401 401 401  404 204 204 204 403  204 404 204 404  204',
  },
  // No scope opens approvals.
  'GET /approvals': {
    target: fixed('/approvals'),
    want: '401 401 401 401 401 401  200 200 200 403 403  200 200 200 200  200',
  },
  'GET /approvals/:id': {
    target: async (s) => ({ path: `/approvals/${await approval(s)}` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  200 404 200 404  200',
  },
  // A person approves, never an agent.
  'POST /approvals/:id/approve': {
    target: async (s) => ({ path: `/approvals/${await approval(s)}/approve` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 403 403  200',
  },
  'POST /approvals/:id/deny': {
    target: async (s) => ({ path: `/approvals/${await approval(s)}/deny` }),
    want: '401 401 401 401 401 401  404 200 200 403 403  403 403 403 403  200',
  },
  'GET /account/approvals/:id': {
    target: async (s) => ({ path: `/account/approvals/${await approval(s)}` }),
    want: '303 401 401 401 401 401  404 200 200 403 403  403 403 403 403  200',
  },
  'POST /account/approvals/:id': {
    target: async (s) => ({
      path: `/account/approvals/${await approval(s)}`,
      body: new URLSearchParams({ decision: 'deny' }),
    }),
    want: '303 401 401 401 401 401  404 303 303 403 403  403 403 403 403  303',
  },
  'GET /audit': {
    scope: 'audit:read',
    target: fixed('/audit'),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'GET /audit/export': {
    scope: 'audit:read',
    target: fixed('/audit/export?format=json'),
    want: '401 401 401 401 401 401  200 200 200 200 403  200 200 200 200  200',
  },
  'GET /audit/:id': {
    scope: 'audit:read',
    target: async (s) => ({ path: `/audit/${await decided(s)}` }),
    want: '401 401 401 401 401 401  404 200 200 200 403  200 404 200 404  200',
  },
  'GET /audit/:id/explain': {
    scope: 'audit:read',
    target: async (s) => ({ path: `/audit/${await decided(s)}/explain` }),
    want: '401 401 401 401 401 401  404 200 200 200 403  200 404 200 404  200',
  },
  'POST /mcp/servers': {
    target: () => ({ path: '/mcp/servers', body: mcpServer() }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  201',
  },
  'GET /mcp/servers': {
    target: fixed('/mcp/servers'),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'GET /mcp/servers/:id': {
    target: async (s) => ({ path: `/mcp/servers/${await registered(s)}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'PATCH /mcp/servers/:id': {
    target: async (s) => ({ path: `/mcp/servers/${await registered(s)}`, body: { tools: [] } }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
  'DELETE /mcp/servers/:id': {
    target: async (s) => ({ path: `/mcp/servers/${await registered(s)}` }),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  204',
  },
  'GET /.well-known/oauth-protected-resource': {
    target: fixed('/.well-known/oauth-protected-resource'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /.well-known/oauth-protected-resource/:path{.+}': {
    target: async (s) => ({ path: `/.well-known/oauth-protected-resource${await registeredPath(s)}` }),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /dashboard/stats': {
    scope: 'audit:read',
    target: fixed('/dashboard/stats'),
    want: '401 401 401 401 401 401  200 200 200 200 403  403 403 200 403  200',
  },
  'GET /health/live': {
    target: fixed('/health/live'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /health/ready': {
    target: fixed('/health/ready'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /openapi.json': {
    target: fixed('/openapi.json'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /docs': { target: fixed('/docs'), want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200' },
  'GET /docs/:file': {
    target: fixed('/docs/swagger-ui.css'),
    want: '200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200',
  },
  'GET /metrics': {
    target: fixed('/metrics'),
    want: '401 401 401 401 401 401  403 403 403 403 403  403 403 403 403  200',
  },
};
