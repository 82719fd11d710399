import type { Scene } from './matrix.cases.ts';

/** A body or query that is right and names every field that the schema knows: what the mutants are made from. */
type Sample = (scene: Scene) => unknown;

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
});

/** By endpoint. An endpoint with a body needs one; a field that is missing here fails the test. */
export const bodies: Readonly<Record<string, Sample>> = {
  'POST /authorize': question,
  'POST /authorize/batch': (s) => ({ requests: [question(s)] }),
  'POST /tenants': () => ({ name: 'Acme', slug: 'acme' }),
  'POST /sign-up': () => ({ email: 'new@example.com', password: 'long enough', name: 'New' }),
  'POST /sign-in': () => ({ email: 'nobody@example.com', password: 'long enough', rememberMe: true }),
  'POST /totp/enable': () => ({ password: 'long enough' }),
  'POST /totp/verify': () => ({ code: '123456', twoFactorToken: 'lgo_x', trustDevice: true }),
  'POST /totp/disable': () => ({ password: 'long enough' }),
  'PATCH /users/:id': () => ({ role: 'user', tenantId: null, name: 'x' }),
  'POST /setup': () => ({ token: 'lgu_x', email: 'a@example.com', password: 'long enough' }),
  'POST /account/sign-in': () => ({ email: 'nobody@example.com', password: 'long enough', rememberMe: 'on' }),
  'POST /account/sign-up': () => ({ name: 'New', email: 'new@example.com', password: 'long enough' }),
  'POST /account/second-factor': () => ({ code: '123456', trustDevice: 'on' }),
  'POST /account/devices': () => ({ id: 'ses_x' }),
  'POST /account/sign-out': () => ({}),
  'POST /api-tokens': () => ({ name: 'x', scopes: ['audit:read'], expiresAt: LATER }),
  'POST /agents': ({ owner }) => ({ ownerId: owner.id, name: 'n', type: 'service', permissions, expiresAt: LATER, metadata: { a: 1 } }),
  'PATCH /agents/:id': () => ({ name: 'n', permissions, expiresAt: LATER, metadata: { a: 1 } }),
  'POST /delegations': ({ agent, other }) => ({ fromAgent: agent.id, toAgent: other.id, permissions, expiresAt: LATER, maxDepth: 2 }),
  'POST /costs': ({ agent }) => ({ agentId: agent.id, amount: 1.5, currency: 'EUR', tokens: 10, auditId: 'aud_x', metadata: { a: 1 } }),
  'POST /budgets': ({ agent }) => ({ agentId: agent.id, metric: 'cost', limit: 10, window: 'day', onExceed: 'deny', currency: 'EUR' }),
  'PATCH /budgets/:id': () => ({ limit: 10, window: 'day', onExceed: 'deny' }),
  'POST /mcp/servers': () => ({ name: 'github', endpoint: 'https://mcp.example.com/mcp', tools: ['search'], authRequired: true, rateLimit: { rpm: 60 } }),
  'PATCH /mcp/servers/:id': () => ({ name: 'gitlab', endpoint: 'https://mcp.example.com/mcp', tools: ['search'], authRequired: true, rateLimit: { rpm: 60 } }),
  'POST /anomalies/:id/acknowledge': () => ({ note: 'x' }),
  'POST /approvals/:id/approve': () => ({ note: 'x' }),
  'POST /approvals/:id/deny': () => ({ note: 'x' }),
};

const page = { limit: '10', cursor: Buffer.from('tnt_x').toString('base64url') };

export const queries: Readonly<Record<string, Sample>> = {
  'GET /tenants': () => page,
  'GET /mcp/servers': () => page,
  'GET /api-tokens': () => page,
  'GET /users': ({ owner }) => ({ ...page, role: 'user', tenantId: 'tnt_x', email: owner.email }),
  'GET /setup': () => ({ token: 'lgu_x' }),
  'GET /agents': ({ owner }) => ({ ...page, status: 'active', type: 'service', tenantId: 'tnt_x', ownerId: owner.id }),
  'GET /delegations': ({ agent, other }) => ({ ...page, fromAgent: agent.id, toAgent: other.id }),
  'GET /costs': ({ agent }) => ({ ...page, agentId: agent.id, since: '2029-01-01T00:00:00Z', until: LATER }),
  'GET /costs/summary': ({ agent }) => ({ agentId: agent.id, since: '2029-01-01T00:00:00Z', until: LATER }),
  'GET /budgets': ({ agent }) => ({ ...page, agentId: agent.id }),
  'GET /anomalies': ({ agent }) => ({ ...page, agentId: agent.id, kind: 'denial_burst', severity: 'low', status: 'open', since: '2029-01-01T00:00:00Z', until: LATER }),
  'GET /approvals': ({ agent }) => ({ ...page, status: 'pending', agentId: agent.id }),
  'GET /audit': ({ agent, owner }) => ({
    agentId: agent.id,
    userId: owner.id,
    since: '2029-01-01T00:00:00Z',
    until: LATER,
    actions: 'read,write',
    result: 'allowed',
    limit: '10',
    offset: '0',
    cursor: '',
  }),
  'GET /audit/export': ({ agent, owner }) => ({
    agentId: agent.id,
    userId: owner.id,
    since: '2029-01-01T00:00:00Z',
    until: LATER,
    actions: 'read,write',
    result: 'allowed',
    format: 'json',
  }),
  'GET /dashboard/stats': () => ({ window: '7d' }),
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
