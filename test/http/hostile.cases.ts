import { newId } from '../../src/kernel/ids.ts';
import { PAGE_SCOPES, scopeField } from '../../src/people/account-pages/tokens-page.ts';
import type { Scene } from './matrix.scene.ts';

/** A body or query that is right and names every field that the schema knows: what the mutants are made from. */
type Sample = (scene: Scene) => unknown;

const registration = {
  redirect_uris: ['https://app.example/callback'],
  client_name: 'x',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code'],
  response_types: ['code'],
  scope: 'mcp:read',
  client_uri: 'https://app.example/',
  logo_uri: 'https://app.example/logo.png',
  tos_uri: 'https://app.example/tos',
  policy_uri: 'https://app.example/policy',
  contacts: ['someone@app.example'],
  software_id: 'x',
  software_version: '1',
  application_type: 'web',
};

/** Every filter of a webhook. */
const positiveFilters = {
  agentId: ['agt_x'],
  userId: ['usr_x'],
  ownerId: ['usr_x'],
  tenantId: ['tnt_x'],
  action: ['read'],
  resource: ['db:*'],
  result: ['allowed'],
  reason: ['NO_PERMISSION'],
  delegationId: ['dlg_x'],
  clientId: ['cli_x'],
  ip: ['192.0.2.1'],
};
const webhookFilters = {
  ...positiveFilters,
  ...Object.fromEntries(Object.entries(positiveFilters).map(([name, values]) => [`not.${name}`, values])),
};

const LATER = '2031-01-01T00:00:00.000Z';

const constraints = {
  maxCallsPerHour: 5,
  timeWindow: { start: '08:00', end: '18:00', timeZone: 'Europe/Berlin', days: ['mon'] },
  ipAllowlist: ['192.0.2.0/24'],
  requireApproval: true,
  allowedArgPatterns: ['/data/**'],
};
const permissions = [{ resource: 'db:*', actions: ['read'], constraints }];

const question = ({ agent }: Scene) => ({
  agentId: agent.id,
  action: 'read',
  resource: 'db:x',
  arguments: { path: '/x' },
  context: { ip: '192.0.2.1', userAgent: 'test' },
  explain: true,
  dryRun: true,
  tokensCost: 1,
  permissions,
  at: LATER,
});

/** By endpoint. An endpoint with a body needs one; a field that is missing here fails the test. */
export const bodies: Readonly<Record<string, Sample>> = {
  'POST /authorize': question,
  'POST /authorize/batch': (s) => ({ requests: [question(s)] }),
  'POST /tenants': () => ({ name: 'Acme', slug: 'acme' }),
  'POST /sign-up': () => ({
    email: 'new@example.com',
    password: 'long enough',
    name: 'New',
    callbackURL: '/x',
    inviteToken: 'lgo_x',
  }),
  'POST /sign-in': () => ({ email: 'nobody@example.com', password: 'long enough', rememberMe: true }),
  'POST /magic-link': () => ({ email: 'nobody@example.com', callbackURL: '/x' }),
  'POST /magic-link/verify': () => ({ token: 'lgo_x' }),
  'POST /email-otp': () => ({ email: 'nobody@example.com' }),
  'POST /email-otp/verify': () => ({
    email: 'nobody@example.com',
    otp: '123456',
    requestToken: 'lgo_x',
    rememberMe: true,
  }),
  'POST /password/change': () => ({ currentPassword: 'long enough', newPassword: 'longer enough' }),
  'POST /password/forgot': () => ({ email: 'nobody@example.com', callbackURL: '/x' }),
  'POST /password/reset': () => ({ token: 'lgo_x', newPassword: 'long enough' }),
  'POST /verify-email/send': () => ({ email: 'nobody@example.com', callbackURL: '/x' }),
  'POST /verify-email': () => ({ token: 'lgo_x' }),
  'POST /invites': () => ({ email: 'nobody@example.com', role: 'user', tenantId: 'tnt_x' }),
  'POST /totp/enable': () => ({ password: 'long enough' }),
  'POST /totp/verify': () => ({ code: '123456', twoFactorToken: 'lgo_x', trustDevice: true }),
  'POST /totp/disable': () => ({ password: 'long enough', code: '123456' }),
  'PATCH /users/:id': () => ({ role: 'user', tenantId: null, name: 'x' }),
  'POST /setup': () => ({ token: 'lgu_x', email: 'a@example.com', password: 'long enough' }),
  'POST /account/sign-in': () => ({ email: 'nobody@example.com', password: 'long enough', rememberMe: 'on' }),
  'POST /account/sign-up': () => ({ name: 'New', email: 'new@example.com', password: 'long enough' }),
  'POST /account/second-factor': () => ({ code: '123456', trustDevice: 'on' }),
  'POST /account/magic-link': () => ({ email: 'nobody@example.com' }),
  'POST /account/forgot-password': () => ({ email: 'nobody@example.com' }),
  'POST /account/verify-email': () => ({ email: 'nobody@example.com' }),
  'POST /account/approvals/:id': () => ({ decision: 'deny' }),
  'POST /account/devices': () => ({ id: 'ses_x' }),
  'POST /account/password': () => ({ currentPassword: 'long enough', newPassword: 'longer than that' }),
  'POST /account/email-code': () => ({ email: 'nobody@example.com' }),
  'POST /account/email-code/verify': () => ({ email: 'nobody@example.com', code: '123456' }),
  'POST /account/tokens': () => ({
    name: 'one',
    access: 'all',
    lifetime: '30',
    code: '123456',
    ...Object.fromEntries(PAGE_SCOPES.map((scope) => [scopeField(scope), 'on'])),
  }),
  'POST /account/tokens/revoke': () => ({ id: 'tok_x' }),
  'POST /account/two-factor': () => ({ action: 'begin', password: 'long enough', code: '123456', secret: 'ABC' }),
  'POST /account/two-factor/devices': () => ({ id: 'dev_x' }),
  'POST /account/sign-out': () => ({}),
  'POST /api-tokens': () => ({ name: 'x', scopes: ['audit:read'], expiresAt: LATER }),
  'POST /agents': ({ owner }) => ({
    ownerId: owner.id,
    name: 'n',
    type: 'service',
    permissions,
    expiresAt: LATER,
    metadata: { a: 1 },
  }),
  'PATCH /agents/:id': () => ({ name: 'n', permissions, expiresAt: LATER, metadata: { a: 1 } }),
  'POST /delegations': ({ agent, other }) => ({
    fromAgent: agent.id,
    toAgent: other.id,
    permissions,
    expiresAt: LATER,
    maxDepth: 2,
  }),
  'POST /costs': ({ agent }) => ({
    agentId: agent.id,
    amount: 1.5,
    currency: 'EUR',
    tokens: 10,
    auditId: 'aud_x',
    metadata: { a: 1 },
  }),
  'POST /budgets': ({ agent }) => ({
    agentId: agent.id,
    metric: 'cost',
    limit: 10,
    window: 'day',
    onExceed: 'deny',
    currency: 'EUR',
  }),
  'PATCH /budgets/:id': () => ({ limit: 10, window: 'day', onExceed: 'deny' }),
  'POST /mcp/servers': () => ({
    name: 'github',
    endpoint: 'https://mcp.example.com/mcp',
    tools: ['search'],
    authRequired: true,
    rateLimit: { rpm: 60 },
  }),
  'PATCH /mcp/servers/:id': () => ({
    name: 'gitlab',
    endpoint: 'https://mcp.example.com/mcp',
    tools: ['search'],
    authRequired: true,
    rateLimit: { rpm: 60 },
  }),
  'POST /anomalies/:id/acknowledge': () => ({ note: 'x' }),
  'POST /oauth/consent': () => ({ decision: 'deny', scopes: ['mcp:read'], agent: 'new', consentToken: 'x' }),
  'POST /oauth/clients': () => ({ ...registration, resources: ['https://mcp.example/mcp'] }),
  'POST /agents/:id/permissions/replay': () => ({
    permissions,
    since: '2030-01-01T00:00:00.000Z',
    until: '2031-01-01T00:00:00.000Z',
    limit: 10,
  }),
  'POST /agents/:id/permissions/filter': () => ({
    resources: ['db:x'],
    action: 'read',
    context: { ip: '192.0.2.1', userAgent: 'test' },
  }),
  'POST /webhooks': () => ({ url: 'http://127.0.0.1:9/in', types: ['audit'], filters: webhookFilters }),
  'PATCH /webhooks/:id': () => ({
    url: 'http://127.0.0.1:9/in',
    types: ['audit'],
    filters: webhookFilters,
    enabled: false,
  }),
  'POST /approvals/:id/approve': () => ({ note: 'x' }),
  'POST /approvals/:id/deny': () => ({ note: 'x' }),
};

const page = { limit: '10', cursor: Buffer.from('tnt_x').toString('base64url') };

const owned = ({ id }: { id: string }) => ({ ownerId: id, tenantId: 'tnt_x' });

/** Filters of rows of the ledger. */
const rowFilters = ({ agent, owner }: { agent: { id: string }; owner: { id: string } }) => {
  const positive = {
    ...owned(owner),
    agentId: agent.id,
    userId: owner.id,
    action: 'read',
    resource: 'db:*',
    result: 'allowed',
    reason: 'NO_PERMISSION',
    delegationId: 'dlg_x',
    clientId: 'cli_x',
    ip: '192.0.2.1',
  };
  const negative = Object.fromEntries(Object.entries(positive).map(([name, value]) => [`not.${name}`, value]));
  const ids = newId('audit', 0);
  const range = { since: '2029-01-01T00:00:00Z', until: LATER };
  return { ...positive, ...negative, ...range, ids, 'not.ids': ids };
};
const place = { order: 'asc', around: newId('audit', 0) };

export const queries: Readonly<Record<string, Sample>> = {
  'GET /agents/:id/history': () => page,
  'GET /delegations/:id/history': () => page,
  'GET /changes': ({ agent, owner }) => ({
    ...page,
    subject: agent.id,
    actor: owner.id,
    type: 'agent.created',
    since: '2030-01-01T00:00:00.000Z',
    until: '2031-01-01T00:00:00.000Z',
  }),
  'GET /tenants': () => page,
  'GET /mcp/servers': () => page,
  'GET /api-tokens': () => page,
  'GET /users': ({ owner }) => ({ ...page, role: 'user', tenantId: 'tnt_x', email: owner.email, q: 'a' }),
  'GET /setup': () => ({ token: 'lgu_x' }),
  'GET /invites': () => page,
  'GET /magic-link/verify': () => ({ token: 'lgo_x' }),
  'GET /password/reset': () => ({ token: 'lgo_x' }),
  'GET /verify-email': () => ({ token: 'lgo_x' }),
  'GET /agents': ({ owner, agent }) => ({
    ...page,
    ...owned(owner),
    status: 'active',
    type: 'service',
    view: 'summary',
    q: 'a',
    sort: '-calls',
    ids: agent.id,
    expiresBefore: LATER,
    idleSince: LATER,
  }),
  'GET /names': ({ agent }) => ({ ids: agent.id }),
  'GET /delegations': ({ agent, other, owner }) => ({
    ...page,
    ...owned(owner),
    fromAgent: agent.id,
    toAgent: other.id,
  }),
  'GET /costs': ({ agent, owner }) => ({
    ...owned(owner),
    ...page,
    agentId: agent.id,
    since: '2029-01-01T00:00:00Z',
    until: LATER,
  }),
  'GET /costs/summary': ({ agent, owner }) => ({
    ...owned(owner),
    agentId: agent.id,
    since: '2029-01-01T00:00:00Z',
    until: LATER,
  }),
  'GET /budgets': ({ agent, owner }) => ({ ...owned(owner), ...page, agentId: agent.id }),
  'GET /oauth/grants': () => page,
  'GET /oauth/clients': () => page,
  'GET /account/apps': () => ({ ended: '1', lang: 'en' }),
  'GET /permissions/subjects': () => ({ ...page, action: 'read', resource: 'db:x' }),
  'GET /events': (w) => ({ ...page, ...rowFilters(w), ...place, cursor: '', types: 'audit,agent.created' }),
  'GET /webhooks': ({ owner }) => ({ ...page, ...owned(owner) }),
  'GET /webhooks/:id/deliveries': () => ({ ...page, status: 'pending' }),
  'GET /anomalies': ({ agent, owner }) => ({
    ...owned(owner),
    ...page,
    agentId: agent.id,
    kind: 'denial_burst',
    severity: 'low',
    status: 'open',
    since: '2029-01-01T00:00:00Z',
    until: LATER,
  }),
  'GET /approvals': ({ agent, owner }) => ({ ...owned(owner), ...page, status: 'pending', agentId: agent.id }),
  'GET /audit': (w) => ({
    ...rowFilters(w),
    ...place,
    actions: 'read,write',
    limit: '10',
    offset: '0',
    cursor: '',
  }),
  'GET /audit/export': (w) => ({ ...rowFilters(w), actions: 'read,write', format: 'json', order: 'desc' }),
  'GET /audit/histogram': (w) => ({ ...rowFilters(w), actions: 'read,write', buckets: '10' }),
  'GET /audit/facets': (w) => ({ ...rowFilters(w), actions: 'read,write', by: 'reason', limit: '10' }),
  'GET /dashboard/series': ({ owner }) => ({ ...owned(owner), window: '7d', buckets: '10' }),
  'GET /dashboard/stats': ({ owner }) => ({ ...owned(owner), window: '7d' }),
};

/** What has broken queries, templates, paths and shells; literal text to us. */
export const injections: readonly string[] = [
  "'",
  "' OR '1'='1",
  "' OR 1=1 --",
  "'; DROP TABLE agents; --",
  "') UNION SELECT token_hash FROM agents --",
  '" OR ""="',
  '\\',
  "\\' OR 1=1 --",
  '%',
  '_',
  '%27%20OR%201=1',
  '1; SELECT pg_sleep(5)',
  "'||(SELECT 1)||'",
  '$1',
  '?',
  ':id',
  '{{7*7}}',
  '#{7*7}',
  '../../etc/passwd',
  '*',
  'null',
  'undefined',
  '[object Object]',
  '-1',
  '0',
  '1e309',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '<script>alert(1)</script>',
];

/** Texts that are right, in every script and with every trick, and come back as they went in. */
export const texts: readonly string[] = [
  'Zoë',
  'e\u0301',
  '日本語',
  'مرحبا',
  'שלום',
  '\u202eexe.txt',
  '👩‍👩‍👧‍👦',
  '𝒳',
  '\u{10ffff}',
  'a\ufeffb',
  '\ufeffa',
  'a\u200bb',
  'ﬀ',
  'İi',
  'a\u2028b\u2029c',
  'a\u0001b\u007fc',
  'tab\there',
  "O'Brien",
  '\\"quoted\\"',
  '</script>',
  '\ufffd',
  '\uffff',
];
