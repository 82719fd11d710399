// Generated from the declarations of the routes by `npm run docs`.

export interface EndpointTable {
  readonly [name: string]: string | EndpointTable;
}

/**
 * Every operation of the API by its name in the client. LIST is a GET with pages; the answer of RAW is not read; FORM
 * is a POST of a form. `~/` is below `http.basePath`, `^/` at the root of the domain.
 */
export const ENDPOINTS: EndpointTable = {
  authorize: 'POST /authorize',
  authorizeBatch: 'POST /authorize/batch',
  agents: {
    filterPermissions: 'POST /agents/{id}/permissions/filter',
    create: 'POST /agents',
    list: 'LIST /agents',
    get: 'GET /agents/{id}',
    update: 'PATCH /agents/{id}',
    revoke: 'DELETE /agents/{id}',
    delete: 'DELETE /agents/{id}',
    revokeMany: 'POST /agents/revoke',
    rotate: 'POST /agents/{id}/rotate',
    permissions: 'GET /agents/{id}/permissions',
    history: 'LIST /agents/{id}/history',
    replay: 'POST /agents/{id}/permissions/replay',
    trust: {
      create: 'POST /agents/{id}/trust',
      list: 'GET /agents/{id}/trust',
      deleteAll: 'DELETE /agents/{id}/trust',
      delete: 'DELETE /agents/{id}/trust/{trustId}',
    },
    keys: {
      set: 'PUT /agents/{id}/keys',
      get: 'GET /agents/{id}/keys',
      delete: 'DELETE /agents/{id}/keys',
    },
  },
  permissions: {
    subjects: 'LIST /permissions/subjects',
  },
  tenants: {
    create: 'POST /tenants',
    list: 'LIST /tenants',
    get: 'GET /tenants/{id}',
    update: 'PATCH /tenants/{id}',
    delete: 'DELETE /tenants/{id}',
  },
  sessions: {
    list: 'GET /auth/sessions',
    revoke: 'DELETE /auth/sessions/{id}',
    delete: 'DELETE /auth/sessions/{id}',
    revokeAll: 'DELETE /auth/sessions',
    current: 'GET /auth/session',
  },
  users: {
    sessions: {
      list: 'GET /users/{id}/sessions',
      revokeAll: 'DELETE /users/{id}/sessions',
      revoke: 'DELETE /users/{id}/sessions/{sid}',
      delete: 'DELETE /users/{id}/sessions/{sid}',
    },
    list: 'LIST /users',
    get: 'GET /users/{id}',
    update: 'PATCH /users/{id}',
    delete: 'DELETE /users/{id}',
    secondFactor: {
      delete: 'DELETE /users/{id}/second-factor',
    },
  },
  signUp: 'POST /sign-up',
  signIn: 'POST /sign-in',
  signOut: 'POST /sign-out',
  password: {
    change: 'POST /password/change',
    forgot: 'POST /password/forgot',
    reset: 'POST /password/reset',
  },
  verifyEmail: {
    send: 'POST /verify-email/send',
    confirm: 'POST /verify-email',
  },
  invites: {
    create: 'POST /invites',
    list: 'LIST /invites',
    revoke: 'DELETE /invites/{id}',
    delete: 'DELETE /invites/{id}',
  },
  setup: 'POST ^/setup',
  totp: {
    enable: 'POST /totp/enable',
    verify: 'POST /totp/verify',
    disable: 'POST /totp/disable',
  },
  magicLink: {
    send: 'POST /magic-link',
    verify: 'POST /magic-link/verify',
  },
  emailOtp: {
    send: 'POST /email-otp',
    verify: 'POST /email-otp/verify',
  },
  passkeys: {
    registrationOptions: 'POST /passkeys/register/options',
    register: 'POST /passkeys/register/verify',
    signInOptions: 'POST /passkeys/sign-in/options',
    signIn: 'POST /passkeys/sign-in/verify',
    list: 'GET /passkeys',
    delete: 'DELETE /passkeys/{id}',
  },
  apiTokens: {
    create: 'POST /api-tokens',
    list: 'LIST /api-tokens',
    revoke: 'DELETE /api-tokens/{id}',
    delete: 'DELETE /api-tokens/{id}',
  },
  scim: {
    users: {
      list: 'GET /scim/v2/Users',
      create: 'POST /scim/v2/Users',
      get: 'GET /scim/v2/Users/{id}',
      replace: 'PUT /scim/v2/Users/{id}',
      update: 'PATCH /scim/v2/Users/{id}',
      delete: 'DELETE /scim/v2/Users/{id}',
    },
    groups: {
      list: 'GET /scim/v2/Groups',
      create: 'POST /scim/v2/Groups',
      get: 'GET /scim/v2/Groups/{id}',
      replace: 'PUT /scim/v2/Groups/{id}',
      update: 'PATCH /scim/v2/Groups/{id}',
      delete: 'DELETE /scim/v2/Groups/{id}',
    },
    serviceProviderConfig: 'GET /scim/v2/ServiceProviderConfig',
    resourceTypes: {
      list: 'GET /scim/v2/ResourceTypes',
      get: 'GET /scim/v2/ResourceTypes/{id}',
    },
    schemas: {
      list: 'GET /scim/v2/Schemas',
      get: 'GET /scim/v2/Schemas/{id}',
    },
  },
  issuers: {
    create: 'POST /issuers',
    list: 'GET /issuers',
    get: 'GET /issuers/{id}',
    update: 'PATCH /issuers/{id}',
    delete: 'DELETE /issuers/{id}',
  },
  auth: {
    oidc: {
      logout: 'FORM /auth/oidc/{name}/logout',
    },
  },
  delegations: {
    create: 'POST /delegations',
    list: 'LIST /delegations',
    graph: 'GET /delegations/graph',
    get: 'GET /delegations/{id}',
    revoke: 'DELETE /delegations/{id}',
    delete: 'DELETE /delegations/{id}',
    history: 'LIST /delegations/{id}/history',
  },
  approvals: {
    list: 'LIST /approvals',
    get: 'GET /approvals/{id}',
    approve: 'POST /approvals/{id}/approve',
    deny: 'POST /approvals/{id}/deny',
  },
  audit: {
    list: 'LIST /audit',
    export: 'RAW /audit/export',
    histogram: 'GET /audit/histogram',
    facets: 'GET /audit/facets',
    get: 'GET /audit/{id}',
    explain: 'GET /audit/{id}/explain',
    proof: 'RAW /audit/{id}/proof',
    erasures: 'POST /audit/erasures',
  },
  ledger: {
    checkpoint: 'RAW /ledger/checkpoint',
    tile: {
      entries: {
        get: 'RAW /ledger/tile/entries/{tile}',
      },
      get: 'RAW /ledger/tile/{tile}',
    },
    consistency: 'GET /ledger/consistency',
    checkpoints: 'GET /ledger/checkpoints',
    keys: 'GET /ledger/keys',
    logs: {
      list: 'GET /ledger/logs',
      checkpoint: 'RAW /ledger/{log}/checkpoint',
      entries: 'RAW /ledger/{log}/tile/entries/{tile}',
      tile: 'RAW /ledger/{log}/tile/{tile}',
      consistency: 'GET /ledger/{log}/consistency',
      checkpoints: 'GET /ledger/{log}/checkpoints',
      keys: 'GET /ledger/{log}/keys',
      listOf: 'GET /ledger/{log}/logs',
      status: 'GET /ledger/{log}/status',
      proof: 'RAW /ledger/{log}/proof',
    },
    status: 'GET /ledger/status',
    proof: 'RAW /ledger/proof',
  },
  changes: {
    list: 'LIST /changes',
  },
  mcp: {
    servers: {
      create: 'POST /mcp/servers',
      list: 'LIST /mcp/servers',
      get: 'GET /mcp/servers/{id}',
      update: 'PATCH /mcp/servers/{id}',
      delete: 'DELETE /mcp/servers/{id}',
    },
  },
  metadata: {
    protectedResource: 'GET ^/.well-known/oauth-protected-resource',
    protectedResourceAt: 'GET ^/.well-known/oauth-protected-resource/{path}',
    authorizationServer: 'GET ^/.well-known/oauth-authorization-server',
    authorizationServerAt: 'GET ^/.well-known/oauth-authorization-server/{path}',
    authzen: 'GET ^/.well-known/authzen-configuration',
  },
  gateway: {
    connections: {
      list: 'GET /gateway/connections',
      set: 'PUT /gateway/connections/{name}',
      delete: 'DELETE /gateway/connections/{name}',
    },
    clientMetadataJson: 'GET /gateway/client-metadata.json',
    servers: {
      list: 'GET /gateway/servers',
      tools: {
        list: 'LIST /gateway/servers/{name}/tools',
        approve: 'POST /gateway/servers/{name}/tools/{tool}/approve',
        block: 'POST /gateway/servers/{name}/tools/{tool}/block',
      },
      restart: 'POST /gateway/servers/{name}/restart',
    },
  },
  oauth: {
    token: 'FORM ~/oauth/token',
    deviceAuthorization: 'FORM ~/oauth/device_authorization',
    register: 'POST ~/oauth/register',
    revoke: 'FORM ~/oauth/revoke',
    introspect: 'FORM ~/oauth/introspect',
    jwks: 'GET ~/oauth/jwks',
    consent: {
      get: 'GET /oauth/consent',
      decide: 'POST /oauth/consent',
    },
    grants: {
      list: 'LIST /oauth/grants',
      get: 'GET /oauth/grants/{id}',
      revoke: 'DELETE /oauth/grants/{id}',
      delete: 'DELETE /oauth/grants/{id}',
    },
    clients: {
      create: 'POST /oauth/clients',
      list: 'LIST /oauth/clients',
      get: 'GET /oauth/clients/{id}',
      delete: 'DELETE /oauth/clients/{id}',
    },
  },
  authzen: {
    evaluation: 'POST /access/v1/evaluation',
    evaluations: 'POST /access/v1/evaluations',
    search: {
      subject: 'POST /access/v1/search/subject',
      resource: 'POST /access/v1/search/resource',
      action: 'POST /access/v1/search/action',
    },
  },
  events: {
    ticket: 'POST /events/ticket',
    list: 'LIST /events',
  },
  webhooks: {
    create: 'POST /webhooks',
    list: 'LIST /webhooks',
    get: 'GET /webhooks/{id}',
    update: 'PATCH /webhooks/{id}',
    delete: 'DELETE /webhooks/{id}',
    test: 'POST /webhooks/{id}/test',
    rotate: 'POST /webhooks/{id}/rotate',
    deliveries: 'LIST /webhooks/{id}/deliveries',
    redeliver: 'POST /webhooks/deliveries/{id}/redeliver',
    delivery: 'GET /webhooks/deliveries/{id}',
    recover: 'POST /webhooks/{id}/recover',
  },
  costs: {
    record: 'POST /costs',
    create: 'POST /costs',
    list: 'LIST /costs',
    summary: 'GET /costs/summary',
    series: 'GET /costs/series',
  },
  budgets: {
    create: 'POST /budgets',
    list: 'LIST /budgets',
    get: 'GET /budgets/{id}',
    update: 'PATCH /budgets/{id}',
    delete: 'DELETE /budgets/{id}',
  },
  anomalies: {
    list: 'LIST /anomalies',
    get: 'GET /anomalies/{id}',
    acknowledge: 'POST /anomalies/{id}/acknowledge',
  },
  dashboard: {
    stats: 'GET /dashboard/stats',
    series: 'GET /dashboard/series',
    attention: 'GET /dashboard/attention',
  },
  names: {
    list: 'GET /names',
  },
  health: {
    live: 'GET /health/live',
    ready: 'GET /health/ready',
  },
  metrics: 'RAW /metrics',
  system: 'GET /system',
  openapi: 'GET /openapi.json',
};
