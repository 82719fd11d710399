const AGENT = 'agt_01h9xw4t2p00006m8d3kfzq7vr';
const OTHER_AGENT = 'agt_01h9xw4t2p00017c2n5jhye9wb';
const EMAIL = 'ada@example.com';
const PASSWORD = 'correct horse battery staple';
const DEVICE_PERMISSION = { resource: 'mcp:github:*', actions: ['read'] };
const GITHUB = { type: 'mcp', id: 'github:list_issues' };
const SUBJECT = { type: 'agent', id: AGENT };

/** Example request bodies by method and declared path. Ids and tokens have to be replaced. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  'POST /authorize': {
    agentId: AGENT,
    action: 'read',
    resource: 'mcp:github:list_issues',
    arguments: { repo: 'octo/hello' },
    explain: true,
    dryRun: true,
  },
  'POST /authorize/batch': {
    requests: [
      { agentId: AGENT, action: 'read', resource: 'mcp:github:list_issues', dryRun: true },
      { agentId: AGENT, action: 'write', resource: 'mcp:github:create_issue', dryRun: true },
    ],
  },
  'POST /agents/:id/rotate': { reason: 'the token was in a log' },
  'POST /agents/:id/permissions/replay': {
    permissions: [{ resource: 'mcp:github:*', actions: ['read'], constraints: { maxCallsPerHour: 100 } }],
    limit: 1000,
  },
  'POST /agents/:id/permissions/filter': {
    resources: ['mcp:github:list_issues', 'mcp:github:create_issue'],
    action: 'read',
  },
  'POST /tenants': { name: 'Acme', slug: 'acme' },
  'POST /sign-up': { email: EMAIL, password: PASSWORD, name: 'Ada' },
  'POST /sign-in': { email: EMAIL, password: PASSWORD },
  'POST /sign-out': { reason: 'end of the shift' },
  'PATCH /users/:id': { name: 'Ada Lovelace' },
  'POST /password/change': { currentPassword: PASSWORD, newPassword: 'another long passphrase' },
  'POST /password/forgot': { email: EMAIL },
  'POST /password/reset': { token: 'the token of the mail', newPassword: 'another long passphrase' },
  'POST /verify-email/send': { email: EMAIL },
  'POST /verify-email': { token: 'the token of the mail' },
  'POST /invites': { email: 'grace@example.com', role: 'user' },
  'POST /setup': { token: 'the token of the first start', email: EMAIL, password: PASSWORD },
  'POST /totp/enable': { password: PASSWORD },
  'POST /totp/verify': { code: '123456' },
  'POST /totp/disable': { password: PASSWORD },
  'POST /magic-link': { email: EMAIL },
  'POST /magic-link/verify': { token: 'the token of the mail' },
  'POST /email-otp': { email: EMAIL },
  'POST /email-otp/verify': { email: EMAIL, otp: '123456' },
  'POST /api-tokens': { name: 'build server', scopes: ['agents:read', 'audit:read'] },
  'POST /agents': {
    ownerId: 'usr_01h9xw4t2p0000e5b8r1tynk3d',
    name: 'Issue triage',
    type: 'autonomous',
    permissions: [{ ...DEVICE_PERMISSION, constraints: { maxCallsPerHour: 100 } }],
    metadata: { team: 'support' },
  },
  'PATCH /agents/:id': { permissions: [DEVICE_PERMISSION] },
  'POST /delegations': { fromAgent: AGENT, toAgent: OTHER_AGENT, permissions: [DEVICE_PERMISSION], maxDepth: 1 },
  'POST /approvals/:id/approve': { note: 'Checked with the customer.' },
  'POST /approvals/:id/deny': { note: 'Not during the freeze.' },
  'POST /mcp/servers': {
    name: 'github',
    endpoint: 'https://mcp.example.com/github',
    tools: ['list_issues', 'create_issue'],
    rateLimit: { rpm: 600 },
  },
  'PATCH /mcp/servers/:id': { tools: ['list_issues', 'create_issue', 'close_issue'] },
  'POST /oauth/token': {
    grant_type: 'authorization_code',
    client_id: 'the client_id of the registration',
    code: 'the code of the redirect',
    redirect_uri: 'http://127.0.0.1:8080/callback',
    code_verifier: 'the verifier of the code_challenge',
  },
  'POST /oauth/register': { client_name: 'Example client', redirect_uris: ['http://127.0.0.1:8080/callback'] },
  'POST /oauth/device_authorization': { client_id: 'the client_id of the registration', scope: 'mcp:read mcp:execute' },
  'POST /oauth/revoke': { client_id: 'the client_id of the registration', token: 'the token to revoke' },
  'POST /oauth/introspect': { token: 'the token to introspect' },
  'POST /oauth/consent': {
    decision: 'allow',
    scopes: ['agents:read'],
    consentToken: 'the consentToken of GET /oauth/consent',
  },
  'POST /oauth/clients': {
    client_name: 'Example client',
    redirect_uris: ['https://app.example.com/callback'],
    token_endpoint_auth_method: 'client_secret_basic',
  },
  'POST /access/v1/evaluation': { subject: SUBJECT, action: { name: 'read' }, resource: GITHUB },
  'POST /access/v1/evaluations': {
    subject: SUBJECT,
    action: { name: 'read' },
    evaluations: [{ resource: GITHUB }, { resource: { type: 'mcp', id: 'github:create_issue' } }],
  },
  'POST /access/v1/search/subject': { subject: { type: 'agent' }, action: { name: 'read' }, resource: GITHUB },
  'POST /access/v1/search/resource': { subject: SUBJECT, action: { name: 'read' }, resource: { type: 'mcp' } },
  'POST /access/v1/search/action': { subject: SUBJECT, resource: GITHUB },
  'POST /webhooks': { url: 'https://app.example.com/legate', types: ['agent.revoked', 'anomaly.detected'] },
  'PATCH /webhooks/:id': { enabled: true },
  'POST /webhooks/:id/recover': { since: '2030-01-15T08:00:00Z', until: '2030-01-15T09:00:00Z' },
  'POST /webhooks/:id/rotate': { reason: 'rotated every quarter' },
  'POST /webhooks/:id/test': { reason: 'after the change of the firewall' },
  'POST /webhooks/deliveries/:id/redeliver': { reason: 'the receiver was down' },
  'POST /costs': { agentId: AGENT, amount: 0.42, currency: 'USD', tokens: 12_000 },
  'POST /budgets': {
    agentId: AGENT,
    metric: 'cost',
    limit: 25,
    window: 'day',
    onExceed: 'deny',
    currency: 'USD',
  },
  'PATCH /budgets/:id': { limit: 50 },
  'POST /anomalies/:id/acknowledge': { note: 'A load test.' },
};
