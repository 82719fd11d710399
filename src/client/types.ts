// Generated from the declarations of the routes by `npm run docs`.
import type { List } from './list.ts';
import type { RequestOptions } from './request-options.ts';

/** A text of which some values are known; newer services may send others. */
type Open<T extends string> = T | (string & {});

export interface Actor {
  readonly kind: Open<"user" | "agent" | "accessToken" | "apiToken" | "application" | "system">;
  /** null for a request without a credential. */
  readonly id: string | null;
  readonly ip?: string | undefined;
  readonly clientId?: string | undefined;
  readonly grantId?: string | undefined;
  /** The person that a token or the application acts for. */
  readonly userId?: string | undefined;
  readonly workload?: Workload | undefined;
  readonly enterprise?: Enterprise | undefined;
  /** The reason that the request gave. */
  readonly reason?: string | undefined;
}

export interface AdminClientMetadata {
  readonly client_uri?: string | undefined;
  readonly logo_uri?: string | undefined;
  readonly tos_uri?: string | undefined;
  readonly policy_uri?: string | undefined;
  readonly contacts?: readonly string[] | undefined;
  readonly software_id?: string | undefined;
  readonly software_version?: string | undefined;
  readonly application_type?: "web" | "native" | undefined;
  readonly jwks?: unknown | undefined;
  readonly jwks_uri?: unknown | undefined;
  readonly token_endpoint_auth_signing_alg?: unknown | undefined;
  readonly redirect_uris?: readonly string[] | undefined;
  readonly client_name?: string | undefined;
  readonly token_endpoint_auth_method?: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt" | undefined;
  readonly grant_types?: readonly string[] | undefined;
  readonly response_types?: readonly string[] | undefined;
  readonly scope?: string | undefined;
  /** Resources of the client. It may introspect access tokens for them. */
  readonly resources?: readonly string[] | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface Agent {
  readonly id: string;
  readonly ownerId: string;
  readonly name: string;
  readonly type: Open<"autonomous" | "delegated" | "service">;
  /** Computed from the clock. The agent is expired from expiresAt on. */
  readonly status: Open<"active" | "revoked" | "expired">;
  readonly permissions: readonly Permission[];
  /** null: the agent does not expire. */
  readonly expiresAt: string | null;
  readonly metadata: Record<string, unknown>;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Id of the grant, API token or agent that registered it; null if a person did. */
  readonly createdBy: string | null;
}

export interface AgentKeys {
  /** A JWK set of at most 10 public keys. With several, each needs a `kid`. */
  readonly jwks?: {
    readonly keys: readonly ({
      readonly kty: Open<"RSA" | "EC" | "OKP">;
      readonly kid?: string | undefined;
      readonly [name: string]: unknown;
    })[];
  } | undefined;
  /** Address of a JWK set, which is fetched when the agent authenticates. */
  readonly jwksUri?: string | undefined;
  readonly updatedAt: string;
}

export interface AgentSummary {
  readonly id: string;
  readonly ownerId: string;
  readonly name: string;
  readonly type: Open<"autonomous" | "delegated" | "service">;
  /** Computed from the clock. The agent is expired from expiresAt on. */
  readonly status: Open<"active" | "revoked" | "expired">;
  /** null: the agent does not expire. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Id of the grant, API token or agent that registered it; null if a person did. */
  readonly createdBy: string | null;
  readonly permissionCount: number;
  /** Holds a permission without constraints for every resource (`*`) or every action (`*`). */
  readonly unbounded: boolean;
  /** Decisions in the current clock hour and the 24 before it. */
  readonly calls: number;
  /** Number of these decisions that were not allowed. */
  readonly refused: number;
  /** The same by clock hour (UTC), oldest first; the last is the current one. */
  readonly hours: readonly {
    readonly calls: number;
    readonly refused: number;
  }[];
  readonly lastDecisionAt: string | null;
}

export interface AgentWithToken {
  readonly id: string;
  readonly ownerId: string;
  readonly name: string;
  readonly type: Open<"autonomous" | "delegated" | "service">;
  /** Computed from the clock. The agent is expired from expiresAt on. */
  readonly status: Open<"active" | "revoked" | "expired">;
  readonly permissions: readonly Permission[];
  /** null: the agent does not expire. */
  readonly expiresAt: string | null;
  readonly metadata: Record<string, unknown>;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Id of the grant, API token or agent that registered it; null if a person did. */
  readonly createdBy: string | null;
  /** The agent token. Shown once; only its hash is stored. */
  readonly token: string;
}

export interface Anomaly {
  readonly id: string;
  readonly agentId: string;
  readonly kind: Open<"denial_burst" | "rate_spike" | "new_namespace" | "unusual_hour" | "resource_probing">;
  readonly severity: Open<"low" | "medium" | "high">;
  /** Measured value, in the unit of the kind. */
  readonly observed: number | string;
  /** Usual value. */
  readonly expected: number | string;
  /** Audit entries, oldest first. */
  readonly evidence: readonly string[];
  readonly status: Open<"open" | "acknowledged">;
  /** Time of the decision that completed it. */
  readonly detectedAt: string;
  readonly acknowledgedAt: string | null;
  readonly acknowledgedBy: string | null;
  readonly note: string | null;
}

export interface ApiToken {
  readonly id: string;
  readonly name: string;
  /** null: all rights of the user. */
  readonly scopes: readonly (Open<"agents:read" | "agents:write" | "delegations:read" | "delegations:write" | "audit:read" | "events:read" | "authorize" | "mcp:read" | "mcp:execute" | "offline_access" | "scim">)[] | null;
  /** null: the token does not expire. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
  /** Recorded about once a minute. null: not used yet. */
  readonly lastUsedAt: string | null;
}

export interface ApiTokenWithSecret {
  readonly id: string;
  readonly name: string;
  /** null: all rights of the user. */
  readonly scopes: readonly (Open<"agents:read" | "agents:write" | "delegations:read" | "delegations:write" | "audit:read" | "events:read" | "authorize" | "mcp:read" | "mcp:execute" | "offline_access" | "scim">)[] | null;
  /** null: the token does not expire. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
  /** Recorded about once a minute. null: not used yet. */
  readonly lastUsedAt: string | null;
  /** The token value. Shown once; only its hash is stored. */
  readonly token: string;
}

export interface Approval {
  readonly id: string;
  readonly agentId: string;
  readonly action: string;
  readonly resource: string;
  /** Values that look like secrets are redacted; the approval is bound to the exact values. */
  readonly arguments: Record<string, unknown>;
  readonly status: Open<"pending" | "approved" | "denied" | "used" | "expired">;
  /** Audit entry of the decision that requested the approval. */
  readonly auditId: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly resolvedAt: string | null;
  /** The person who decided. */
  readonly resolvedBy: string | null;
  readonly note: string | null;
}

export interface ApproveGatewayTool {
  /** The hash of the reviewed definition. 409 if the server has a different one by now. */
  readonly definition?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface AskForMailRequest {
  readonly email: string;
  /** Address to which the browser is redirected after the link is used. Must be on a trusted origin. */
  readonly callbackURL?: string | undefined;
}

/** Who requested the decision. Absent if the agent itself did, with its token. */
export interface AskedBy {
  readonly kind: Open<"user" | "agent" | "accessToken" | "apiToken" | "application" | "system">;
  readonly id: string | null;
  readonly userId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly grantId?: string | undefined;
  readonly workload?: Workload | undefined;
  readonly enterprise?: Enterprise | undefined;
}

export interface Attention {
  /** Calls that wait for an approval, the one that expires first in front. */
  readonly approvals: {
    readonly count: number;
    /** The first ten. */
    readonly ids: readonly string[];
  };
  /** Anomalies that nobody has acknowledged, newest first. */
  readonly anomalies: {
    readonly count: number;
    /** The first ten. */
    readonly ids: readonly string[];
  };
  /** Budgets of which more than 80 % are used in the current window. */
  readonly budgets: {
    readonly count: number;
    /** The first ten. */
    readonly ids: readonly string[];
  };
  /** Webhooks whose last attempt failed, and those that 410 disabled. */
  readonly webhooks: {
    readonly count: number;
    /** The first ten. */
    readonly ids: readonly string[];
  };
  /** Active agents that expire within 7 days, the next one first. */
  readonly agents: {
    readonly count: number;
    /** The first ten. */
    readonly ids: readonly string[];
  };
}

export interface AuditEntry {
  readonly id: string;
  readonly agentId: string;
  /** Owner of the agent. */
  readonly userId: string;
  readonly action: string;
  readonly resource: string;
  /** Secret-looking values are redacted before they are stored. */
  readonly parameters: Record<string, unknown>;
  readonly result: Open<"allowed" | "denied" | "rate_limited">;
  readonly durationMs: number;
  readonly tokensCost: number;
  readonly timestamp: string;
  readonly reason: string | null;
  /** The chain of a delegated decision, from the root to the agent. */
  readonly delegationIds: readonly string[];
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly seq: number;
  readonly askedBy?: AskedBy | undefined;
  /** The approval that this call used. */
  readonly approvalId?: string | undefined;
  /** The entry of the agent that allowed the call or whose constraint refused it. */
  readonly permission?: {
    readonly resource: string;
    readonly source: {
      readonly type: "own";
    } | {
      readonly type: "delegation";
      /** The chain, from the root to the agent. */
      readonly delegationIds: readonly string[];
    };
  } | undefined;
  /** Parameters, address and user agent were erased. The rest can still be proven. */
  readonly erased?: true | undefined;
}

export interface AuditFacets {
  readonly by: Open<"reason" | "action" | "resource" | "agentId" | "ip">;
  /** Matching entries. */
  readonly total: number;
  /** Matching entries without a value. */
  readonly missing: number;
  /** Number of different values. */
  readonly distinct: number;
  /** The most frequent first. */
  readonly values: readonly {
    readonly value: string;
    readonly count: number;
    readonly counts: ResultCounts;
  }[];
}

export interface AuditHistogram {
  /** Inclusive. null: the range is open and no entry matches. */
  readonly since: string | null;
  /** Exclusive. */
  readonly until: string | null;
  /** Equal parts of the range; fewer than asked for if it has fewer milliseconds. */
  readonly buckets: readonly {
    readonly since: string;
    readonly until: string;
    readonly counts: ResultCounts;
  }[];
}

export interface AuthZenActionSearch {
  readonly subject: {
    readonly type: string;
    readonly id: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly resource: {
    readonly type: string;
    readonly id: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly context?: {
    /** IPv4 or IPv6 address from which the subject calls. Any other value is ignored. */
    readonly ip?: unknown | undefined;
    /** A string. Any other value is ignored. */
    readonly userAgent?: unknown | undefined;
    readonly [name: string]: unknown;
  } | undefined;
  readonly page?: {
    readonly token?: string | undefined;
    readonly limit?: number | undefined;
  } | undefined;
}

export interface AuthZenActions {
  readonly results: readonly {
    readonly name: string;
  }[];
  readonly context?: {
    readonly complete: false;
  } | undefined;
  readonly page: {
    readonly next_token: string;
    readonly count: number;
  };
}

export interface AuthZenConfiguration {
  readonly policy_decision_point: string;
  readonly access_evaluation_endpoint: string;
  readonly access_evaluations_endpoint: string;
  readonly search_subject_endpoint: string;
  readonly search_resource_endpoint: string;
  readonly search_action_endpoint: string;
}

export interface AuthZenDecision {
  readonly decision: boolean;
  /** auditId: id of the audit entry. reason: code of a refusal. */
  readonly context?: {
    readonly auditId?: string | undefined;
    readonly reason?: string | undefined;
    readonly [name: string]: unknown;
  } | undefined;
}

export interface AuthZenDecisions {
  readonly evaluations: readonly AuthZenDecision[];
}

export interface AuthZenEvaluation {
  readonly subject: {
    readonly type: string;
    readonly id: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly action: {
    readonly name: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly resource: {
    readonly type: string;
    readonly id: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly context?: {
    /** IPv4 or IPv6 address from which the subject calls. Any other value is ignored. */
    readonly ip?: unknown | undefined;
    /** A string. Any other value is ignored. */
    readonly userAgent?: unknown | undefined;
    readonly [name: string]: unknown;
  } | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface AuthZenEvaluations {
  readonly subject?: unknown | undefined;
  readonly action?: unknown | undefined;
  readonly resource?: unknown | undefined;
  readonly context?: unknown | undefined;
  readonly evaluations?: readonly unknown[] | undefined;
  readonly options?: {
    readonly evaluations_semantic?: "execute_all" | "deny_on_first_deny" | "permit_on_first_permit" | undefined;
  } | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface AuthZenResourceSearch {
  readonly subject: {
    readonly type: string;
    readonly id: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly action: {
    readonly name: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly resource: {
    readonly type: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly context?: {
    /** IPv4 or IPv6 address from which the subject calls. Any other value is ignored. */
    readonly ip?: unknown | undefined;
    /** A string. Any other value is ignored. */
    readonly userAgent?: unknown | undefined;
    readonly [name: string]: unknown;
  } | undefined;
  readonly page?: {
    readonly token?: string | undefined;
    readonly limit?: number | undefined;
  } | undefined;
}

export interface AuthZenResources {
  readonly results: readonly {
    readonly type: string;
    readonly id: string;
  }[];
  readonly context?: {
    readonly complete: false;
  } | undefined;
  readonly page: {
    readonly next_token: string;
    readonly count: number;
  };
}

export interface AuthZenSubjectSearch {
  readonly subject: {
    readonly type: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly action: {
    readonly name: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly resource: {
    readonly type: string;
    readonly id: string;
    readonly properties?: Record<string, unknown> | undefined;
  };
  readonly context?: {
    /** IPv4 or IPv6 address from which the subject calls. Any other value is ignored. */
    readonly ip?: unknown | undefined;
    /** A string. Any other value is ignored. */
    readonly userAgent?: unknown | undefined;
    readonly [name: string]: unknown;
  } | undefined;
  readonly page?: {
    readonly token?: string | undefined;
    readonly limit?: number | undefined;
  } | undefined;
}

export interface AuthZenSubjects {
  readonly results: readonly {
    readonly type: string;
    readonly id: string;
  }[];
  readonly context?: {
    readonly complete: false;
  } | undefined;
  readonly page: {
    readonly next_token: string;
    readonly count: number;
  };
}

export interface AuthorizationServerMetadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly device_authorization_endpoint: string;
  readonly registration_endpoint?: string | undefined;
  readonly revocation_endpoint: string;
  readonly introspection_endpoint: string;
  readonly jwks_uri?: string | undefined;
  readonly scopes_supported: readonly string[];
  readonly response_types_supported: readonly string[];
  readonly response_modes_supported: readonly string[];
  readonly grant_types_supported: readonly string[];
  readonly authorization_grant_profiles_supported: readonly string[];
  readonly code_challenge_methods_supported: readonly string[];
  readonly token_endpoint_auth_methods_supported: readonly string[];
  readonly token_endpoint_auth_signing_alg_values_supported: readonly string[];
  readonly revocation_endpoint_auth_methods_supported: readonly string[];
  readonly revocation_endpoint_auth_signing_alg_values_supported: readonly string[];
  readonly introspection_endpoint_auth_methods_supported: readonly string[];
  readonly introspection_endpoint_auth_signing_alg_values_supported: readonly string[];
  readonly authorization_response_iss_parameter_supported: boolean;
  readonly client_id_metadata_document_supported: boolean;
  readonly service_documentation: string;
  readonly ui_locales_supported: readonly string[];
}

export interface AuthorizeDecision {
  readonly allowed: boolean;
  /** Id of the audit entry. Absent for a dry run. */
  readonly auditId?: string | undefined;
  /** Why the call is not allowed. */
  readonly reason?: Open<"AGENT_REVOKED" | "AGENT_EXPIRED" | "OWNER_SUSPENDED" | "NO_PERMISSION" | "APPROVAL_REQUIRED" | "RATE_LIMITED" | "BUDGET_EXCEEDED" | "OUTSIDE_TIME_WINDOW" | "IP_NOT_ALLOWED" | "ARGUMENTS_NOT_ALLOWED"> | undefined;
  /** Seconds; with RATE_LIMITED. */
  readonly retryAfter?: number | undefined;
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly resetAt?: string | undefined;
  /** With APPROVAL_REQUIRED, unless approvalLimit is present. */
  readonly approvalId?: string | undefined;
  /** With APPROVAL_REQUIRED: no approval was requested, because as many calls of the agent (`approvals.maxWaitingPerAgent`) or of all agents of its owner (`approvals.maxWaitingPerOwner`) already wait. */
  readonly approvalLimit?: {
    readonly per: Open<"agent" | "owner">;
    readonly limit: number;
  } | undefined;
  readonly trace?: DecisionTrace | undefined;
}

export interface AuthorizeRequest {
  /** Optional for an agent that asks about itself. */
  readonly agentId?: string | undefined;
  readonly action: string;
  readonly resource: string;
  readonly arguments?: Record<string, unknown> | undefined;
  readonly context?: {
    readonly ip?: string | undefined;
    readonly userAgent?: string | undefined;
  } | undefined;
  readonly explain?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly tokensCost?: number | undefined;
  /** With dryRun only: a draft in place of the agent's own permissions. */
  readonly permissions?: readonly Permission[] | undefined;
  /** With dryRun only: the time to decide for, on the current policy. Limits and budgets whose current window does not contain it count as unused. */
  readonly at?: string | undefined;
}

export interface Budget {
  readonly id: string;
  readonly agentId: string;
  readonly metric: Open<"cost" | "tokens" | "calls">;
  readonly currency: string | null;
  readonly limit: number;
  readonly window: Open<"hour" | "day" | "month">;
  readonly onExceed: Open<"notify" | "deny">;
  /** Usage in the current window. */
  readonly used: number;
  /** End of the current window. */
  readonly resetsAt: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ChangePasswordRequest {
  readonly currentPassword: string;
  /** At least 8 characters and at most 1,024 bytes of UTF-8; 15 or more characters are recommended. Very common passwords, and passwords made of the address or the name of the service, are refused. */
  readonly newPassword: string;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface ClientRegistration {
  readonly client_id: string;
  readonly client_id_issued_at: number;
  readonly redirect_uris: readonly string[];
  readonly [name: string]: unknown;
}

export interface CodeSent {
  readonly status: true;
  /** For POST /email-otp/verify: binds the code to this request. Also set as a cookie. */
  readonly requestToken: string;
}

export interface ConsentDecisionRequest {
  readonly decision: "allow" | "deny";
  /** A subset of the requested scopes; by default all of them. */
  readonly scopes?: readonly string[] | undefined;
  /** One of `agents`, or `new`. By default `usualAgent`, or else a new agent. */
  readonly agent?: string | undefined;
  /** The value from GET /oauth/consent. If it is sent again, the first response is returned until its code is used or expires. */
  readonly consentToken: string;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface ConsentDetails {
  readonly client: {
    readonly id: string;
    readonly name: string | null;
    /** self: it registered itself, and nobody has verified its name. */
    readonly origin: Open<"self" | "admin" | "document">;
  };
  /** Host of the redirect URI. Show it, so that the person can check who gets access. */
  readonly redirectHost: string;
  readonly resource: string;
  readonly scopes: readonly {
    readonly name: string;
    readonly description: string;
    /** The scope lets the client change what agents may do. Highlight it, and let the person tick it. */
    readonly sensitive: boolean;
  }[];
  readonly agents: readonly {
    readonly id: string;
    readonly name: string;
  }[];
  /** The agent that this client used before. */
  readonly usualAgent: string | null;
  /** Return it with the decision. Valid once, for this session and request, for an hour. */
  readonly consentToken: string;
}

export interface Constraints {
  /** Maximum calls per clock hour (UTC) under this entry. 0 allows none. */
  readonly maxCallsPerHour?: number | undefined;
  readonly timeWindow?: TimeWindow | undefined;
  /** Addresses or CIDR ranges from which the agent may call. */
  readonly ipAllowlist?: readonly string[] | undefined;
  /** Each call requires the approval of a person. */
  readonly requireApproval?: boolean | undefined;
  /** Globs (* within a path segment, ** across). Every string in the arguments must match one of them. */
  readonly allowedArgPatterns?: readonly string[] | undefined;
}

export interface Cost {
  readonly id: string;
  readonly agentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly tokens: number | null;
  readonly auditId: string | null;
  readonly metadata: Record<string, unknown>;
  readonly createdAt: string;
}

/** Oldest first; `from` is inclusive, `to` exclusive. */
export interface CostSeries {
  readonly buckets: readonly {
    /** Number of recorded costs. */
    readonly count: number;
    readonly tokens: number;
    readonly totals: readonly {
      readonly currency: string;
      readonly amount: number;
    }[];
    readonly from: string;
    readonly to: string;
  }[];
}

export interface CostSummary {
  /** Number of recorded costs. */
  readonly count: number;
  readonly tokens: number;
  readonly totals: readonly {
    readonly currency: string;
    readonly amount: number;
  }[];
  /** Sums per agent, for the hundred agents with the most costs. */
  readonly agents: readonly {
    /** Number of recorded costs. */
    readonly count: number;
    readonly tokens: number;
    readonly totals: readonly {
      readonly currency: string;
      readonly amount: number;
    }[];
    readonly agentId: string;
    readonly name: string;
  }[];
}

export interface CreateAgentRequest {
  /** The caller's own id; an admin may name any known user. */
  readonly ownerId: string;
  readonly name: string;
  readonly type: "autonomous" | "delegated" | "service";
  readonly permissions?: readonly Permission[] | undefined;
  readonly expiresAt?: string | null | undefined;
  /** Free-form, at most 16 KB of JSON. */
  readonly metadata?: Record<string, unknown> | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface CreateApiTokenRequest {
  readonly name: string;
  /** Narrows the token to these scopes. Without it, the token has all rights of its user. */
  readonly scopes?: readonly ("agents:read" | "agents:write" | "delegations:read" | "delegations:write" | "audit:read" | "events:read" | "authorize" | "mcp:read" | "mcp:execute" | "offline_access" | "scim")[] | null | undefined;
  readonly expiresAt?: string | null | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface CreateBudgetRequest {
  readonly agentId: string;
  readonly metric: "cost" | "tokens" | "calls";
  readonly limit: number;
  readonly window: "hour" | "day" | "month";
  readonly onExceed?: "notify" | "deny" | undefined;
  /** Only for metric cost: counts costs in this currency only. USD by default. */
  readonly currency?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface CreateDelegation {
  readonly fromAgent: string;
  readonly toAgent: string;
  readonly permissions: readonly Permission[];
  /** null or absent: active until it is revoked or its parent delegations end. */
  readonly expiresAt?: string | null | undefined;
  /** Maximum depth of any delegation in this chain; with 1 it cannot be delegated further. The default is 3. */
  readonly maxDepth?: number | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface CreateInviteRequest {
  readonly email: string;
  /** auditor: sees everything that an administrator sees, and can change only their own account. */
  readonly role?: "user" | "admin" | "auditor" | undefined;
  readonly tenantId?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface CreateIssuerRequest {
  /** Unique. */
  readonly name: string;
  /** Its address, exactly as in the claim `iss` of its tokens. Unique. Required unless the preset has one. https, unless federation.allowPrivateNetworks is on. */
  readonly issuer?: string | undefined;
  /** A well-known provider. Fills in `issuer` if all customers share one, and checks its form. github signs people in with OAuth 2, because it does not support OpenID Connect, and needs `clientSecret`. */
  readonly preset?: "google" | "microsoft" | "okta" | "auth0" | "keycloak" | "gitlab" | "github" | undefined;
  /** signIn: people sign in with it. workload: agents may trust its tokens (`POST /agents/{id}/trust`). enterprise: it may let applications act for its people without asking them (ID-JAG). */
  readonly uses: readonly ("signIn" | "workload" | "enterprise")[];
  /** Audience that its tokens must have. Default: the issuer or the token endpoint of this service. */
  readonly audience?: string | undefined;
  /** Address of its public keys, https like `issuer`. Default: the address in its document `/.well-known/openid-configuration`. */
  readonly jwksUri?: string | undefined;
  /** Default: RS256, ES256. */
  readonly algorithms?: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "Ed25519")[] | undefined;
  /** This service as a client of the issuer. Needed for signIn. */
  readonly clientId?: string | undefined;
  /** Stored encrypted and never shown. Without it, the client is a public client. */
  readonly clientSecret?: string | undefined;
  /** Domains for which the issuer is trusted to confirm addresses, without subdomains. Only at an address in them do its people join an existing account with the same verified address. */
  readonly domains?: readonly string[] | undefined;
  /** required: only the issuer can let applications act for people with an address in its domains; they cannot. */
  readonly enterprise?: {
    readonly required: boolean;
  } | undefined;
  /** Role and tenant of people whose claim has this value, set at each sign-in. The strongest role and the first tenant apply. If nothing matches, the role is user, without a tenant. */
  readonly map?: readonly IssuerMapping[] | undefined;
  /** Values of `acr` or `amr` with which the issuer confirms a second factor. A person with a second factor here is then not asked for a code. */
  readonly secondFactors?: readonly string[] | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface CreateTenantRequest {
  readonly name: string;
  /** Unique. Derived from the name if absent. */
  readonly slug?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface CreateWebhookRequest {
  /** https, and not a private address, unless webhooks.allowPrivateNetworks is on. */
  readonly url: string;
  /** Event types. If absent or null, all except `webhook.*`. */
  readonly types?: readonly ("audit" | "audit.erased" | "agent.created" | "agent.updated" | "agent.revoked" | "agent.rotated" | "agent.keys" | "anomaly.detected" | "anomaly.acknowledged" | "approval.requested" | "approval.resolved" | "auth.signin" | "auth.signout" | "session.ended" | "auth.failed" | "auth.denied" | "auth.limited" | "budget.exceeded" | "cost.recorded" | "delegation.created" | "gateway.call" | "gateway.connected" | "gateway.disconnected" | "gateway.restarted" | "gateway.tool_changed" | "grant.created" | "grant.revoked" | "grant.token_revoked" | "delegation.revoked" | "budget.created" | "budget.updated" | "budget.deleted" | "consent.remembered" | "device.answered" | "client.created" | "client.deleted" | "group.created" | "group.updated" | "group.deleted" | "invite.created" | "invite.accepted" | "invite.revoked" | "issuer.created" | "issuer.updated" | "issuer.deleted" | "ledger.clock_reset" | "ledger.pruned" | "ledger.key-added" | "ledger.key-retired" | "ledger.begun" | "ledger.resumed" | "ledger.restored" | "ledger.stopped" | "mcp.created" | "mcp.updated" | "mcp.deleted" | "passkey.added" | "passkey.removed" | "tenant.created" | "tenant.deleted" | "tenant.updated" | "trust.created" | "trust.deleted" | "token.created" | "token.revoked" | "user.created" | "user.deleted" | "user.updated" | "webhook.created" | "webhook.updated" | "webhook.deleted" | "webhook.rotated")[] | null | undefined;
  readonly filters?: WebhookFilters | undefined;
  /** Messages for an incoming webhook of Slack, of a workflow of Microsoft Teams, or of Discord, about `anomaly.detected`, `approval.requested`, `approval.resolved`, `budget.exceeded`. If absent or null, the event as JSON. Cannot be changed later. */
  readonly format?: "slack" | "teams" | "discord" | null | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface DashboardStats {
  readonly totalAgents: number;
  readonly activeAgents: number;
  readonly totalAuditEntries: number;
  /** Share of denied and rate-limited decisions in the last 24 hours, in percent. */
  readonly denialRateLast24h: number;
  /** The ten agents with the most decisions in the window, including refused ones. */
  readonly topAgentsByCallCount: readonly {
    readonly agentId: string;
    readonly name: string;
    readonly ownerId: string;
    readonly callCount: number;
    readonly deniedCount: number;
  }[];
}

/** Oldest first; `from` is inclusive, `to` exclusive. */
export interface DecisionSeries {
  readonly buckets: readonly ({
    readonly from: string;
    readonly to: string;
    readonly allowed: number;
    readonly denied: number;
    readonly rateLimited: number;
    readonly durationMs: {
      /** Within 5 %; null without decisions. */
      readonly p50: number | null;
      /** Within 5 %; null without decisions. */
      readonly p95: number | null;
    };
  })[];
}

export interface DecisionTrace {
  readonly agentStatus: Open<"active" | "revoked" | "expired">;
  readonly entries: readonly TracedEntry[];
  readonly omitted: number;
  /** The budget or MCP server whose limit refused the call, although an entry allows it. */
  readonly refusedBy?: string | undefined;
  /** For a call that no entry allows: the entry that came closest, and what it lacks. */
  readonly nearest?: {
    readonly index: number;
    readonly resource: string;
    readonly actions: readonly string[];
    readonly lacks: Open<"resource" | "action" | "allowed" | "resource-not-matched" | "action-not-matched" | "rate-limited" | "outside-time-window" | "ip-not-allowed" | "arguments-not-allowed" | "approval-required" | "delegation-expired" | "depth-exceeded" | "source-does-not-hold" | "budget-exceeded" | "not-needed" | "agent-not-active">;
  } | undefined;
}

export interface Delegation {
  readonly id: string;
  readonly fromAgent: string;
  readonly toAgent: string;
  readonly permissions: readonly Permission[];
  /** Position in the chain, 1 for a direct delegation. */
  readonly depth: number;
  /** null if it was created without its own expiry. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
}

export interface DelegationGraph {
  readonly agents: readonly ({
    readonly id: string;
    /** null, like owner and status, for an agent that is not visible. */
    readonly name: string | null;
    readonly ownerId: string | null;
    readonly status: Open<"active" | "revoked" | "expired"> | null;
  })[];
  readonly delegations: readonly ({
    readonly id: string;
    readonly fromAgent: string;
    readonly toAgent: string;
    readonly depth: number;
    readonly permissionCount: number;
    /** It takes effect now. */
    readonly active: boolean;
    readonly createdAt: string;
    readonly expiresAt: string | null;
    readonly revokedAt: string | null;
  })[];
  /** false: there are more than 2,000 delegations. */
  readonly complete: boolean;
}

/** Derived from the User-Agent of the sign-in; `unknown` if it is not recognised. */
export interface Device {
  readonly browser: string;
  readonly os: string;
  /** desktop, mobile, tablet, tv, bot or unknown. */
  readonly type: string;
}

export interface DeviceAuthorization {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  /** Seconds. */
  readonly expires_in: number;
  /** Seconds to wait between two requests at the token endpoint. */
  readonly interval: number;
}

export interface DeviceAuthorizationRequest {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly client_assertion?: string | undefined;
  readonly client_assertion_type?: string | undefined;
  readonly scope?: string | undefined;
  readonly resource?: string | undefined;
}

export interface DisableTotpRequest {
  /** Required if the account has a password that is not switched off by `users.passwords`. */
  readonly password?: string | undefined;
  /** Code of the app or backup code. Required once the second factor is on. */
  readonly code?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface Done {
  readonly status: true;
}

export interface EffectivePermission {
  /** Segments separated by ":". A final "*" matches one or more segments, "*" in the middle exactly one, "*" alone every resource. */
  readonly resource: string;
  readonly actions: readonly string[];
  readonly constraints?: Constraints | undefined;
  /** Further constraints of the chain that must hold too, if one object cannot express them. */
  readonly furtherConstraints?: readonly Constraints[] | undefined;
  readonly source: {
    readonly type: "own";
  } | {
    readonly type: "delegation";
    /** The chain, from the root to the agent. */
    readonly delegationIds: readonly string[];
  };
  /** When it last allowed a call. null: never, or too many calls of the agent ago to be found. A call through a delegation counts for each of its permissions that match the call. */
  readonly lastUsedAt: string | null;
}

/** The identity provider that let the client act, and its name for the person. */
export interface Enterprise {
  readonly issuer: string;
  readonly subject: string;
}

export interface Erasure {
  /** Number of rows of the ledger from which data was erased. */
  readonly erased: number;
  /** Sequence numbers of the entries that record the erasure. GET /ledger/proof?seq= returns a proof of each. */
  readonly recordedAs: readonly number[];
  /** Copies outside the service, which are not erased. */
  readonly outOfReach: string;
}

export interface ExplainedAuditEntry {
  readonly entry: AuditEntry;
  readonly trace: DecisionTrace;
  /** false: not all agents above could be read, and chains through the others count as not held. */
  readonly complete: boolean;
  /** Result of the evaluation shown in the trace. */
  readonly evaluated: {
    readonly result: Open<"allowed" | "denied" | "rate_limited">;
    readonly reason: string | null;
  };
  /** Sequence of the entry: the trace shows agents, delegations, approvals and counters as the decision found them. null: the entry is older than their versions, and the trace shows the current policy. */
  readonly asOf: number | null;
  /** The agent, or one above it in its chains, has changed since. */
  readonly policyChanged: boolean;
}

export interface FilterRequest {
  readonly resources: readonly string[];
  readonly action: string;
  readonly context?: {
    readonly ip?: string | undefined;
    readonly userAgent?: string | undefined;
  } | undefined;
}

export interface GatewayClientMetadata {
  readonly client_id: string;
  readonly client_name: string;
  readonly client_uri: string;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: string;
}

export interface GatewayConnection {
  /** Name of the server in the path of its endpoint. */
  readonly name: string;
  /** userSecret: the person enters the secrets in `fields`. oauth: the person signs in at the server. */
  readonly type: Open<"userSecret" | "oauth">;
  /** Names of the secrets that the server needs; empty with `oauth`. */
  readonly fields: readonly string[];
  readonly connected: boolean;
  /** null: not connected. */
  readonly connectedAt: string | null;
  /** Page on which the person connects. */
  readonly connectUrl: string;
}

export interface GatewayServer {
  readonly name: string;
  /** The address to which clients connect. */
  readonly url: string;
  readonly transport: Open<"stdio" | "http">;
  /** State on this instance: `failing` after a failed start or a lost connection, until another one opens; `idle` without a connection, which the next call opens. */
  readonly state: Open<"idle" | "running" | "failing">;
  /** Why the last connection of this instance failed. null: it did not, or another one is open. */
  readonly problem: string | null;
  /** Number of connections of this instance: processes, or sessions over HTTP. */
  readonly processes: number;
  readonly maxProcesses: number;
  readonly isolation: Open<"user" | "session" | "shared">;
  readonly pin: Open<"enforce" | "alarm" | "off">;
  /** Number of tools by state. All are 0 with `pin: off`. */
  readonly tools: {
    readonly approved: number;
    readonly new: number;
    readonly changed: number;
    readonly blocked: number;
  };
  /** When its definitions were first listed and thereby approved. null: never. */
  readonly baselineAt: string | null;
}

export interface GatewayTool {
  readonly name: string;
  /** With `pin: enforce`, only approved definitions can be listed and called: a `new` tool is withheld, and so is a `changed` one with its new definition. A `blocked` tool is withheld with `pin: alarm` too. */
  readonly state: Open<"approved" | "new" | "changed" | "blocked">;
  readonly approved: GatewayToolDefinition | null;
  /** The definition that the server listed last. */
  readonly seen: GatewayToolDefinition;
  readonly updatedAt: string;
}

export interface GatewayToolDefinition {
  /** SHA-256 of the canonical JSON (RFC 8785) without its cosmetic parts. */
  readonly hash: string;
  /** The tool as `tools/list` of the server returned it. */
  readonly tool: Record<string, unknown>;
}

export interface Grant {
  readonly id: string;
  readonly clientId: string;
  readonly clientName: string | null;
  readonly userId: string;
  readonly agentId: string;
  readonly agentName: string | null;
  /** With an exchanged token: the agent that acts. `agentId` is the agent for which it acts. */
  readonly actorId?: string | undefined;
  readonly kind: Open<"authorization_code" | "client_credentials" | "token_exchange" | "device_code" | "jwt_bearer" | "id_jag">;
  readonly scopes: readonly string[];
  readonly resource: string;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly expiresAt: string;
}

export interface Introspection {
  readonly active: boolean;
  readonly [name: string]: unknown;
}

export interface IntrospectionRequest {
  readonly token?: string | undefined;
  readonly token_type_hint?: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly client_assertion?: string | undefined;
  readonly client_assertion_type?: string | undefined;
}

export interface Invite {
  readonly id: string;
  readonly email: string;
  /** auditor: sees everything that an administrator sees, and can change only their own account. */
  readonly role: Open<"user" | "admin" | "auditor">;
  readonly tenantId: string | null;
  /** The administrator who sent the invitation. */
  readonly invitedBy: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface Issuer {
  readonly id: string;
  readonly name: string;
  readonly issuer: string;
  readonly preset?: Open<"google" | "microsoft" | "okta" | "auth0" | "keycloak" | "gitlab" | "github"> | undefined;
  readonly uses: readonly (Open<"signIn" | "workload" | "enterprise">)[];
  readonly audience?: string | undefined;
  readonly jwksUri?: string | undefined;
  readonly algorithms: readonly (Open<"RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "Ed25519">)[];
  readonly clientId?: string | undefined;
  readonly domains?: readonly string[] | undefined;
  readonly enterprise?: {
    readonly required: boolean;
  } | undefined;
  readonly map?: readonly IssuerMapping[] | undefined;
  readonly secondFactors?: readonly string[] | undefined;
  /** configuration: declared in `issuers` of the configuration; the API cannot change it. */
  readonly source: Open<"api" | "configuration">;
  /** Absent for an issuer of the configuration. */
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
}

export interface IssuerMapping {
  /** Name of a claim. Its value is a text, a number, a boolean, or an array of these. */
  readonly claim: string;
  readonly value: string;
  readonly role?: "user" | "admin" | "auditor" | undefined;
  /** Slug of a tenant. */
  readonly tenant?: string | undefined;
}

export interface JsonWebKeySet {
  readonly keys: readonly Record<string, unknown>[];
}

export interface Live {
  readonly status: "ok";
}

export interface McpRateLimit {
  /** Decisions allowed in each clock minute, over all agents. 0 never allows. */
  readonly rpm: number;
}

export interface McpServer {
  readonly id: string;
  readonly name: string;
  readonly endpoint: string;
  readonly tools: readonly string[];
  readonly authRequired: boolean;
  readonly rateLimit?: McpRateLimit | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Named {
  readonly id: string;
  /** Kind of the id, such as `agent`. */
  readonly kind: string;
  /** For display. Not unique, and chosen by others. */
  readonly name: string;
}

export interface NewInvite {
  readonly id: string;
  readonly email: string;
  /** auditor: sees everything that an administrator sees, and can change only their own account. */
  readonly role: Open<"user" | "admin" | "auditor">;
  readonly tenantId: string | null;
  /** The administrator who sent the invitation. */
  readonly invitedBy: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly url: string;
}

export interface Passkey {
  readonly id: string;
  readonly name: string;
  /** true: a password manager may copy it to other devices. */
  readonly synced: boolean;
  /** How the authenticator is reached, such as internal or usb. */
  readonly transports: readonly string[];
  readonly createdAt: string;
  /** null: not used to sign in. */
  readonly lastUsedAt: string | null;
}

/** PublicKeyCredentialCreationOptionsJSON, for PublicKeyCredential.parseCreationOptionsFromJSON(). */
export interface PasskeyRegistrationOptions {
  readonly challenge: string;
  readonly rp: {
    readonly id: string;
    readonly name: string;
  };
  readonly user: {
    readonly id: string;
    readonly name: string;
    readonly displayName: string;
  };
  readonly pubKeyCredParams: readonly {
    readonly type: "public-key";
    readonly alg: number;
  }[];
  readonly timeout: number;
  readonly excludeCredentials: readonly ({
    readonly id: string;
    readonly type: "public-key";
    readonly transports?: readonly string[] | undefined;
  })[];
  readonly authenticatorSelection: {
    readonly residentKey: "required";
    readonly requireResidentKey: true;
    readonly userVerification: "required";
  };
  readonly attestation: "none";
}

/** PublicKeyCredentialRequestOptionsJSON, for PublicKeyCredential.parseRequestOptionsFromJSON(). */
export interface PasskeySignInOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly timeout: number;
  readonly userVerification: "required";
  readonly allowCredentials: readonly ({
    readonly id: string;
    readonly type: "public-key";
    readonly transports?: readonly string[] | undefined;
  })[];
}

export interface Permission {
  /** Segments separated by ":". A final "*" matches one or more segments, "*" in the middle exactly one, "*" alone every resource. */
  readonly resource: string;
  readonly actions: readonly string[];
  readonly constraints?: Constraints | undefined;
}

export interface PolicyVersion {
  /** 1 for the first, one more for each change. */
  readonly version: number;
  /** Sequence in the ledger. Decisions after it are based on this version. */
  readonly seq: number;
  readonly at: string;
  /** Type of the event; null if the change emitted none, such as an earlier end caused by another delegation. */
  readonly type: string | null;
  readonly actor: Actor;
  readonly reason?: string | undefined;
  /** Previous values of the changed fields. Empty in the first version. */
  readonly before: Record<string, unknown>;
  /** New values of the changed fields. */
  readonly after: Record<string, unknown>;
}

export interface Preview {
  readonly preview: true;
  /** The events that the change would emit and that the caller would see, in their order. */
  readonly events: readonly ({
    readonly type: string;
    readonly data: Record<string, unknown>;
    readonly agentId?: string | undefined;
    readonly userId?: string | undefined;
    readonly actor: Record<string, unknown>;
    readonly before?: Record<string, unknown> | undefined;
    readonly after?: Record<string, unknown> | undefined;
  })[];
  /** Every agent within reach of the caller that could do less, the target included. */
  readonly loses: readonly ({
    readonly agentId: string;
    readonly name: string;
    /** Effective permissions that the agent would lose. */
    readonly permissions: readonly ({
      readonly resource: string;
      readonly actions: readonly string[];
      readonly constraints?: Record<string, unknown> | undefined;
      readonly furtherConstraints?: readonly Record<string, unknown>[] | undefined;
      readonly source: {
        readonly type: "own";
      } | {
        readonly type: "delegation";
        readonly delegationIds: readonly string[];
      };
    })[];
    /** Number of effective permissions that it would keep. */
    readonly left: number;
  })[];
  /** Number of further agents that could do less and that the caller cannot see. */
  readonly hidden: number;
  /** Number of grants that would end. */
  readonly grants: number;
  /** Number of waiting approvals that these agents could no longer use. */
  readonly approvals: number;
  /** Number of decisions about these agents within the last hour. */
  readonly callsLastHour: number;
}

export interface ProtectedResourceMetadata {
  /** Resource identifier to request tokens for (RFC 8707). */
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly bearer_methods_supported: readonly "header"[];
  readonly scopes_supported: readonly string[];
  readonly resource_name?: string | undefined;
  readonly resource_documentation?: string | undefined;
  /** Extension of Legate: the registered MCP servers. */
  readonly mcp_servers?: readonly {
    readonly id: string;
    readonly name: string;
    readonly endpoint: string;
    readonly tools: readonly string[];
    readonly auth_required: boolean;
  }[] | undefined;
}

export interface ProvePasswordRequest {
  /** Required if the account has a password that is not switched off by `users.passwords`. */
  readonly password?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface PutGatewayConnectionRequest {
  /** A value for each secret that the server needs. */
  readonly fields: Record<string, string>;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface Ready {
  /** degraded: requests are served, but Redis does not respond or the ledger is not sealed. */
  readonly status: Open<"ready" | "degraded" | "unavailable">;
  readonly checks: {
    /** draining: the process is about to stop. The other checks are then unknown. */
    readonly instance: Open<"ok" | "draining">;
    readonly database: Open<"ok" | "unreachable" | "unknown">;
    /** blocked: decisions cannot be recorded. */
    readonly ledger: Open<"ok" | "blocked" | "unknown">;
    /** off: it differs by more than 30 seconds from that of the database. */
    readonly clock: Open<"ok" | "off" | "unknown">;
    /** Only if Redis is used. unreachable: until it responds, each process counts limits on its own. */
    readonly redis?: Open<"ok" | "unreachable"> | undefined;
    /** Only if the ledger is sealed. behind: rows wait for a checkpoint for more than a minute, or the newest one cannot be written to the data folder. halted: none is signed until the log is ended with `npx legate ledger recover`. */
    readonly seal?: Open<"ok" | "behind" | "halted"> | undefined;
    /** behind: the database lacks migrations that this version needs. */
    readonly schema: Open<"ok" | "behind" | "unknown">;
  };
}

export interface RecordCostRequest {
  readonly agentId: string;
  readonly amount: number;
  readonly currency?: string | undefined;
  readonly tokens?: number | undefined;
  /** The decision that caused the cost: an audit entry of the same agent. */
  readonly auditId?: string | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface RecordedChange {
  readonly id: string;
  /** One of audit, audit.erased, agent.created, agent.updated, agent.revoked, agent.rotated, agent.keys, anomaly.detected, anomaly.acknowledged, approval.requested, approval.resolved, auth.signin, auth.signout, session.ended, auth.failed, auth.denied, auth.limited, budget.exceeded, cost.recorded, delegation.created, gateway.call, gateway.connected, gateway.disconnected, gateway.restarted, gateway.tool_changed, grant.created, grant.revoked, grant.token_revoked, delegation.revoked, budget.created, budget.updated, budget.deleted, consent.remembered, device.answered, client.created, client.deleted, group.created, group.updated, group.deleted, invite.created, invite.accepted, invite.revoked, issuer.created, issuer.updated, issuer.deleted, ledger.clock_reset, ledger.pruned, ledger.key-added, ledger.key-retired, ledger.begun, ledger.resumed, ledger.restored, ledger.stopped, mcp.created, mcp.updated, mcp.deleted, passkey.added, passkey.removed, tenant.created, tenant.deleted, tenant.updated, trust.created, trust.deleted, token.created, token.revoked, user.created, user.deleted, user.updated, webhook.created, webhook.updated, webhook.deleted, webhook.rotated. */
  readonly type: string;
  readonly timestamp: string;
  readonly data: Record<string, unknown>;
  readonly agentId?: string | undefined;
  readonly userId?: string | undefined;
  /** Who caused the event. Absent for `audit` and for events from before actors were recorded. */
  readonly actor?: Actor | undefined;
  /** Old values of the changed fields. */
  readonly before?: Record<string, unknown> | undefined;
  /** New values of the changed fields. */
  readonly after?: Record<string, unknown> | undefined;
  readonly seq: number;
}

export interface RecoverWebhookRequest {
  readonly since: string;
  /** Default: now. */
  readonly until?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface RecoveredWebhook {
  /** Number of deliveries that are repeated. */
  readonly recovered: number;
  /** true: the range has more deliveries. Send the request again. */
  readonly more: boolean;
}

export interface RefusedAuthorizationRequest {
  readonly redirectTo: string;
  readonly redirectHost: string;
  /** True for an unverified client: show `redirectHost` and let the person follow a link instead of redirecting. */
  readonly confirm: boolean;
}

export interface RegisterMcpServerRequest {
  /** Unique; the second segment of `mcp:<name>:<tool>` in permissions. */
  readonly name: string;
  /** URL of the server, which is also the resource of its tokens. https, or http on loopback. */
  readonly endpoint: string;
  readonly tools?: readonly string[] | undefined;
  readonly authRequired?: boolean | undefined;
  readonly rateLimit?: McpRateLimit | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface Replay {
  /** Number of recorded decisions that were repeated. */
  readonly examined: number;
  /** false: the range has more decisions than `limit`, or than one request may read or repeat. The repeated decisions are then the newest, or the oldest of these. */
  readonly complete: boolean;
  readonly changed: readonly ({
    readonly auditId: string;
    readonly at: string;
    readonly action: string;
    readonly resource: string;
    readonly was: Open<"allowed" | "denied" | "rate_limited">;
    readonly would: Open<"allowed" | "denied" | "rate_limited">;
    /** Reason of the new result; null: allowed. */
    readonly reason: string | null;
  })[];
}

export interface ReplayRequest {
  /** The draft, in place of the agent's own permissions. */
  readonly permissions: readonly Permission[];
  /** Inclusive. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
  /** Maximum number of decisions; the newest of the range are taken. */
  readonly limit?: number | undefined;
}

export interface ResetPasswordRequest {
  readonly token: string;
  readonly newPassword: string;
}

/** Number of decisions by result. */
export interface ResultCounts {
  readonly allowed: number;
  readonly denied: number;
  readonly rate_limited: number;
}

export type Revocation = Record<string, never>;

export interface RevocationRequest {
  readonly token?: string | undefined;
  readonly token_type_hint?: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly client_assertion?: string | undefined;
  readonly client_assertion_type?: string | undefined;
}

export interface RevokeAgentsRequest {
  readonly agentIds: readonly string[];
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface RevokedSessions {
  /** Number of sessions that ended. */
  readonly revoked: number;
}

export interface ScimGroupRequest {
  readonly schemas?: readonly string[] | undefined;
  readonly displayName: string;
  readonly externalId?: string | null | undefined;
  readonly members?: readonly {
    readonly value: string;
  }[] | null | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface ScimListResponse {
  readonly schemas: readonly string[];
  readonly totalResults: number;
  readonly startIndex: number;
  readonly itemsPerPage: number;
  readonly Resources: readonly Record<string, unknown>[];
}

export interface ScimPatchRequest {
  readonly schemas?: readonly string[] | undefined;
  readonly Operations: readonly ({
    readonly op: string;
    readonly path?: string | undefined;
    readonly value?: unknown | undefined;
  })[];
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
  readonly [name: string]: unknown;
}

export interface ScimResource {
  readonly schemas: readonly string[];
  readonly id: string;
  readonly [name: string]: unknown;
}

export interface ScimServiceProviderConfig {
  readonly schemas: readonly string[];
  readonly [name: string]: unknown;
}

export interface ScimUserRequest {
  readonly schemas?: readonly string[] | undefined;
  /** Unique. The e-mail address of the account, unless `emails` has one. */
  readonly userName: string;
  readonly externalId?: string | null | undefined;
  readonly name?: {
    readonly formatted?: string | null | undefined;
    readonly givenName?: string | null | undefined;
    readonly familyName?: string | null | undefined;
  } | null | undefined;
  readonly displayName?: string | null | undefined;
  /** `false` suspends the user. */
  readonly active?: boolean | string | null | undefined;
  readonly emails?: readonly ({
    readonly value: string;
    readonly type?: string | null | undefined;
    readonly primary?: boolean | string | null | undefined;
  })[] | null | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface SendCodeRequest {
  readonly email: string;
}

export interface Session {
  readonly id: string;
  /** True for the session that the caller used. */
  readonly current: boolean;
  readonly createdAt: string;
  /** multiSession.idleTtl after the last use, at most multiSession.absoluteTtl after sign-in. */
  readonly expiresAt: string;
  /** Only with multiSession.trackDevice. */
  readonly device?: Device | undefined;
  /** Client address of the sign-in. Only with multiSession.trackIp. */
  readonly ipAddress?: string | undefined;
}

export interface SessionAndUser {
  /** null if the caller did not use a session. */
  readonly session: Session | null;
  readonly user: User;
}

export interface SessionList {
  readonly sessions: readonly Session[];
}

export interface SetAgentKeysRequest {
  /** A JWK set of at most 10 public keys. With several, each needs a `kid`. */
  readonly jwks?: {
    readonly keys: readonly ({
      readonly kty: "RSA" | "EC" | "OKP";
      readonly kid?: string | undefined;
      readonly [name: string]: unknown;
    })[];
  } | undefined;
  /** Address of a JWK set, which is fetched when the agent authenticates. */
  readonly jwksUri?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface SetupRequest {
  readonly token: string;
  readonly email: string;
  readonly password: string;
}

export interface SignInRequest {
  readonly email: string;
  readonly password: string;
  /** false: the browser deletes the cookie when it closes. */
  readonly rememberMe?: boolean | undefined;
}

export interface SignUpRequest {
  readonly email: string;
  /** At least 8 characters and at most 1,024 bytes of UTF-8; 15 or more characters are recommended. Very common passwords, and passwords made of the address or the name of the service, are refused. */
  readonly password: string;
  readonly name?: string | undefined;
  /** Token from the link of an invitation. The e-mail address must be the invited one. */
  readonly inviteToken?: string | undefined;
  /** Address to which the browser is redirected after the link is used. Must be on a trusted origin. */
  readonly callbackURL?: string | undefined;
}

export interface SignedIn {
  /** The session token, also set as a cookie. It works as a Bearer token too. */
  readonly token: string;
  readonly user: User;
  /** The user must set up a second factor (users.requireSecondFactor). Until then this session can only do that and sign out. */
  readonly secondFactorSetupRequired?: true | undefined;
}

export interface StreamEvent {
  readonly id: string;
  /** One of audit, audit.erased, agent.created, agent.updated, agent.revoked, agent.rotated, agent.keys, anomaly.detected, anomaly.acknowledged, approval.requested, approval.resolved, auth.signin, auth.signout, session.ended, auth.failed, auth.denied, auth.limited, budget.exceeded, cost.recorded, delegation.created, gateway.call, gateway.connected, gateway.disconnected, gateway.restarted, gateway.tool_changed, grant.created, grant.revoked, grant.token_revoked, delegation.revoked, budget.created, budget.updated, budget.deleted, consent.remembered, device.answered, client.created, client.deleted, group.created, group.updated, group.deleted, invite.created, invite.accepted, invite.revoked, issuer.created, issuer.updated, issuer.deleted, ledger.clock_reset, ledger.pruned, ledger.key-added, ledger.key-retired, ledger.begun, ledger.resumed, ledger.restored, ledger.stopped, mcp.created, mcp.updated, mcp.deleted, passkey.added, passkey.removed, tenant.created, tenant.deleted, tenant.updated, trust.created, trust.deleted, token.created, token.revoked, user.created, user.deleted, user.updated, webhook.created, webhook.updated, webhook.deleted, webhook.rotated. */
  readonly type: string;
  readonly timestamp: string;
  readonly data: Record<string, unknown>;
  readonly agentId?: string | undefined;
  readonly userId?: string | undefined;
  /** Who caused the event. Absent for `audit` and for events from before actors were recorded. */
  readonly actor?: Actor | undefined;
  /** Old values of the changed fields. */
  readonly before?: Record<string, unknown> | undefined;
  /** New values of the changed fields. */
  readonly after?: Record<string, unknown> | undefined;
}

export interface StreamTicket {
  readonly ticket: string;
  readonly expiresAt: string;
}

export interface SystemDescription {
  readonly version: string;
  readonly node: string;
  readonly baseUrl: string;
  readonly production: boolean;
  readonly time: string;
  readonly database: {
    readonly dialect: Open<"sqlite" | "postgres">;
    readonly migrations: {
      readonly applied: number;
      readonly pending: readonly string[];
    };
  };
  /** Problems of the installation, in words. */
  readonly warnings: readonly string[];
  readonly instances: readonly ({
    readonly id: string;
    readonly host: string;
    readonly version: string;
    /** null for an instance of an earlier version. */
    readonly baseUrl: string | null;
    readonly startedAt: string;
    /** Time of its last sign of life, at most 30 seconds ago. */
    readonly seenAt: string;
    /** true for the instance that sent this response. */
    readonly current: boolean;
  })[];
  readonly settings: readonly {
    readonly option: string;
    /** Name of its environment variable. */
    readonly environment: string;
    /** `default`, `file`, `environment` or `code`. */
    readonly source: string;
    readonly secret: boolean;
    readonly set: boolean;
    /** null for a secret, and for an option without a value. */
    readonly value: unknown;
  }[];
  /** Keys of secrets.json, without their values. */
  readonly keys: readonly {
    readonly kind: string;
    readonly id: string;
    readonly createdAt: string;
    readonly ageSeconds: number;
    /** The key that signs or encrypts; the others still verify. */
    readonly current: boolean;
  }[];
}

export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly createdAt: string;
}

export interface TimeWindow {
  readonly start: string;
  readonly end: string;
  /** IANA time zone. UTC by default. */
  readonly timeZone?: string | undefined;
  /** Days on which the window begins, as names ("mon", "Monday") or numbers (0 is Sunday). Every day by default. */
  readonly days?: readonly (number | string)[] | undefined;
}

export interface TokenRequest {
  readonly grant_type?: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly client_assertion?: string | undefined;
  readonly client_assertion_type?: string | undefined;
  readonly code?: string | undefined;
  readonly redirect_uri?: string | undefined;
  readonly code_verifier?: string | undefined;
  readonly refresh_token?: string | undefined;
  readonly device_code?: string | undefined;
  readonly scope?: string | undefined;
  readonly resource?: string | undefined;
  readonly audience?: string | undefined;
  readonly subject_token?: string | undefined;
  readonly subject_token_type?: string | undefined;
  readonly actor_token?: string | undefined;
  readonly actor_token_type?: string | undefined;
  readonly requested_token_type?: string | undefined;
  readonly assertion?: string | undefined;
}

export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "Bearer";
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token?: string | undefined;
  readonly scope: string;
  readonly issued_token_type?: string | undefined;
}

export interface TotpEnabling {
  /** otpauth:// URI, to be shown as a QR code. */
  readonly totpURI: string;
  /** The same secret in Base32, for manual entry. */
  readonly secret: string;
  /** Ten single-use codes that replace a code of the app. Shown only in this answer. */
  readonly backupCodes: readonly string[];
}

export interface TracedEntry {
  readonly index: number;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly constraints?: Record<string, unknown> | undefined;
  readonly source: {
    readonly type: "own";
  } | {
    readonly type: "delegation";
    readonly delegationId: string;
    readonly fromAgent: string;
    readonly fromStatus?: Open<"active" | "revoked" | "expired"> | undefined;
    /** Matching entries of the source, if the chain was followed. Only if the source has the same owner. */
    readonly entries?: readonly TracedEntry[] | undefined;
  };
  readonly outcome: Open<"allowed" | "resource-not-matched" | "action-not-matched" | "rate-limited" | "outside-time-window" | "ip-not-allowed" | "arguments-not-allowed" | "approval-required" | "delegation-expired" | "depth-exceeded" | "source-does-not-hold" | "budget-exceeded" | "not-needed" | "agent-not-active">;
  readonly used?: number | undefined;
  readonly limit?: number | undefined;
}

export interface TrustWorkloadRequest {
  /** Address of a registered issuer that may be used for workloads. */
  readonly issuer: string;
  /** Claim `sub` of the token: exact, or with `*` for whole segments between `:` and `/`. */
  readonly subject: string;
  /** Audience of the token. Default: the audience of the issuer. */
  readonly audience?: string | undefined;
  /** Further claims that the token must have: exact values, or for texts with `*` as in `subject`. A claim that is a list must contain the value. */
  readonly claims?: Record<string, string | number | boolean> | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface TwoFactorRequired {
  readonly twoFactorRequired: true;
  /** Methods that POST /totp/verify accepts. A backup code is always accepted too. */
  readonly twoFactorMethods: readonly "totp"[];
  /** For POST /totp/verify: valid for 10 minutes, 5 attempts and one sign-in. It is not a session token. */
  readonly twoFactorToken: string;
}

export interface UpdateAgentRequest {
  readonly name?: string | undefined;
  readonly permissions?: readonly Permission[] | undefined;
  /** null removes the expiry; a later time reactivates an expired agent. */
  readonly expiresAt?: string | null | undefined;
  /** Replaces the whole object. */
  readonly metadata?: Record<string, unknown> | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface UpdateBudgetRequest {
  readonly limit?: number | undefined;
  readonly window?: "hour" | "day" | "month" | undefined;
  readonly onExceed?: "notify" | "deny" | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface UpdateIssuerRequest {
  readonly name?: string | undefined;
  /** signIn: people sign in with it. workload: agents may trust its tokens (`POST /agents/{id}/trust`). enterprise: it may let applications act for its people without asking them (ID-JAG). */
  readonly uses?: readonly ("signIn" | "workload" | "enterprise")[] | undefined;
  readonly audience?: string | null | undefined;
  readonly jwksUri?: string | null | undefined;
  /** Default: RS256, ES256. */
  readonly algorithms?: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "Ed25519")[] | undefined;
  readonly clientId?: string | null | undefined;
  readonly clientSecret?: string | null | undefined;
  readonly domains?: readonly string[] | null | undefined;
  /** required: only the issuer can let applications act for people with an address in its domains; they cannot. */
  readonly enterprise?: {
    readonly required: boolean;
  } | undefined;
  readonly map?: readonly IssuerMapping[] | null | undefined;
  readonly secondFactors?: readonly string[] | null | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface UpdateMcpServerRequest {
  /** Unique; the second segment of `mcp:<name>:<tool>` in permissions. */
  readonly name?: string | undefined;
  /** URL of the server, which is also the resource of its tokens. https, or http on loopback. */
  readonly endpoint?: string | undefined;
  readonly tools?: readonly string[] | undefined;
  readonly authRequired?: boolean | undefined;
  /** null removes the limit. */
  readonly rateLimit?: McpRateLimit | null | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface UpdateTenantRequest {
  readonly name?: string | undefined;
  /** Unique. */
  readonly slug?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface UpdateUserRequest {
  /** auditor: sees everything that an administrator sees, and can change only their own account. */
  readonly role?: "user" | "admin" | "auditor" | undefined;
  readonly tenantId?: string | null | undefined;
  readonly name?: string | null | undefined;
  /** suspended: the user cannot sign in, their API tokens do not work, and every decision about their agents is OWNER_SUSPENDED. */
  readonly status?: "active" | "suspended" | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface UpdateWebhookRequest {
  readonly url?: string | undefined;
  readonly types?: readonly ("audit" | "audit.erased" | "agent.created" | "agent.updated" | "agent.revoked" | "agent.rotated" | "agent.keys" | "anomaly.detected" | "anomaly.acknowledged" | "approval.requested" | "approval.resolved" | "auth.signin" | "auth.signout" | "session.ended" | "auth.failed" | "auth.denied" | "auth.limited" | "budget.exceeded" | "cost.recorded" | "delegation.created" | "gateway.call" | "gateway.connected" | "gateway.disconnected" | "gateway.restarted" | "gateway.tool_changed" | "grant.created" | "grant.revoked" | "grant.token_revoked" | "delegation.revoked" | "budget.created" | "budget.updated" | "budget.deleted" | "consent.remembered" | "device.answered" | "client.created" | "client.deleted" | "group.created" | "group.updated" | "group.deleted" | "invite.created" | "invite.accepted" | "invite.revoked" | "issuer.created" | "issuer.updated" | "issuer.deleted" | "ledger.clock_reset" | "ledger.pruned" | "ledger.key-added" | "ledger.key-retired" | "ledger.begun" | "ledger.resumed" | "ledger.restored" | "ledger.stopped" | "mcp.created" | "mcp.updated" | "mcp.deleted" | "passkey.added" | "passkey.removed" | "tenant.created" | "tenant.deleted" | "tenant.updated" | "trust.created" | "trust.deleted" | "token.created" | "token.revoked" | "user.created" | "user.deleted" | "user.updated" | "webhook.created" | "webhook.updated" | "webhook.deleted" | "webhook.rotated")[] | null | undefined;
  readonly filters?: WebhookFilters | undefined;
  /** true re-enables a disabled webhook. */
  readonly enabled?: boolean | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

export interface UseLinkRequest {
  readonly token: string;
}

export interface User {
  readonly id: string;
  /** null for a user of the embedding application, who does not sign in here. */
  readonly email: string | null;
  readonly name: string | null;
  /** auditor: sees everything that an administrator sees, and can change only their own account. */
  readonly role: Open<"user" | "admin" | "auditor">;
  /** suspended: the user cannot sign in, their API tokens do not work, and every decision about their agents is OWNER_SUSPENDED. */
  readonly status: Open<"active" | "suspended">;
  readonly emailVerified: boolean;
  readonly twoFactorEnabled: boolean;
  readonly tenantId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface VerifyCodeRequest {
  readonly email: string;
  /** Six digits from the mail. */
  readonly otp: string;
  /** From the answer of POST /email-otp; a browser has it as a cookie. With it, guesses of others do not use up the attempts of this code. */
  readonly requestToken?: string | undefined;
  /** false: the browser deletes the cookie when it closes. */
  readonly rememberMe?: boolean | undefined;
}

/** RegistrationResponseJSON, as PublicKeyCredential.toJSON() returns it, and a name. */
export interface VerifyPasskeyRegistrationRequest {
  readonly id: string;
  readonly rawId: string;
  readonly type: "public-key";
  readonly authenticatorAttachment?: string | null | undefined;
  readonly clientExtensionResults?: Record<string, unknown> | undefined;
  readonly response: {
    readonly clientDataJSON: string;
    readonly attestationObject: string;
    readonly transports?: readonly string[] | undefined;
    readonly authenticatorData?: string | undefined;
    readonly publicKey?: string | null | undefined;
    readonly publicKeyAlgorithm?: number | undefined;
  };
  /** Shown in the list of passkeys. Default: the kind of device. */
  readonly name?: string | undefined;
  /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
  readonly reason?: string | undefined;
}

/** AuthenticationResponseJSON, as PublicKeyCredential.toJSON() returns it. */
export interface VerifyPasskeySignInRequest {
  readonly id: string;
  readonly rawId: string;
  readonly type: "public-key";
  readonly authenticatorAttachment?: string | null | undefined;
  readonly clientExtensionResults?: Record<string, unknown> | undefined;
  readonly response: {
    readonly clientDataJSON: string;
    readonly authenticatorData: string;
    readonly signature: string;
    readonly userHandle?: string | null | undefined;
  };
  /** false: the browser deletes the cookie when it closes. */
  readonly rememberMe?: boolean | undefined;
}

export interface VerifyTotpRequest {
  /** Six digits of the authenticator app, or a backup code. */
  readonly code: string;
  /** From the first step of the sign-in. Without it, the code is for the session of this call. */
  readonly twoFactorToken?: string | undefined;
  /** true: this browser needs no second factor for 30 days. */
  readonly trustDevice?: boolean | undefined;
}

export interface Webhook {
  readonly id: string;
  readonly ownerId: string;
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly filters: Record<string, readonly string[]> | null;
  readonly format: Open<"slack" | "teams" | "discord"> | null;
  readonly enabled: boolean;
  /** `disabled`: by a caller; `gone`: the receiver answered 410; `agent-not-allowed`: the agent that set the address was revoked, has expired, or may no longer read events. */
  readonly disabledReason: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface WebhookDelivery {
  readonly id: string;
  readonly webhookId: string;
  /** `webhook-id` of the message, the same on every attempt. */
  readonly eventId: string;
  readonly type: string;
  /** dropped: all attempts failed. POST .../redeliver tries again. */
  readonly status: Open<"pending" | "delivered" | "dropped">;
  readonly attempts: number;
  /** HTTP status of the last response. */
  readonly lastStatus: number | null;
  /** Why the last attempt failed: `answered <status>`, or without a response `timeout`, `connection_failed`, `tls_failed`, `response_invalid`, `name_not_resolved`, `address_refused` (a private or special-use address), `url_refused`, `secret_unreadable`; `overdue`: it waited for an hour because the receiver failed; `not_visible`: the webhook may no longer see the event. */
  readonly lastError: string | null;
  readonly nextAttemptAt: string | null;
  readonly createdAt: string;
  readonly deliveredAt: string | null;
}

export interface WebhookDeliveryWithAttempts {
  readonly id: string;
  readonly webhookId: string;
  /** `webhook-id` of the message, the same on every attempt. */
  readonly eventId: string;
  readonly type: string;
  /** dropped: all attempts failed. POST .../redeliver tries again. */
  readonly status: Open<"pending" | "delivered" | "dropped">;
  readonly attempts: number;
  /** HTTP status of the last response. */
  readonly lastStatus: number | null;
  /** Why the last attempt failed: `answered <status>`, or without a response `timeout`, `connection_failed`, `tls_failed`, `response_invalid`, `name_not_resolved`, `address_refused` (a private or special-use address), `url_refused`, `secret_unreadable`; `overdue`: it waited for an hour because the receiver failed; `not_visible`: the webhook may no longer see the event. */
  readonly lastError: string | null;
  readonly nextAttemptAt: string | null;
  readonly createdAt: string;
  readonly deliveredAt: string | null;
  /** The message as it is sent. */
  readonly payload: string;
  /** The latest hundred attempts of the last 30 days, oldest first. */
  readonly log: readonly ({
    readonly at: string;
    /** null: there was no response. */
    readonly status: number | null;
    readonly error: string | null;
    readonly durationMs: number;
    /** The first 2 KB of the response, as text. Written by the receiver. */
    readonly answer: string | null;
  })[];
}

/** Filters of GET /events, each with a list of values of which one must match. Filters on decisions leave out other events. null: none. */
export type WebhookFilters = {
  /** May be repeated to match any of several values. */
  readonly agentId?: readonly string[] | undefined;
  /** Owner of the agent. May be repeated to match any of several values. */
  readonly userId?: readonly string[] | undefined;
  /** As userId. May be repeated to match any of several values. */
  readonly ownerId?: readonly string[] | undefined;
  /** Tenant of the owner; of a deleted owner, those of the agents. May be repeated to match any of several values. */
  readonly tenantId?: readonly string[] | undefined;
  /** May be repeated to match any of several values. */
  readonly action?: readonly string[] | undefined;
  /** `prefix:*` matches everything below the prefix. May be repeated to match any of several values. */
  readonly resource?: readonly string[] | undefined;
  /** May be repeated to match any of several values. */
  readonly result?: readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
  /** May be repeated to match any of several values. */
  readonly reason?: readonly string[] | undefined;
  /** A delegation of the chain. May be repeated to match any of several values. */
  readonly delegationId?: readonly string[] | undefined;
  /** OAuth client through which the decision was requested or the change was made. May be repeated to match any of several values. */
  readonly clientId?: readonly string[] | undefined;
  /** May be repeated to match any of several values. */
  readonly ip?: readonly string[] | undefined;
  /** Leaves out the entries that `agentId` would select. May be repeated to match any of several values. */
  readonly "not.agentId"?: readonly string[] | undefined;
  /** Leaves out the entries that `userId` would select. May be repeated to match any of several values. */
  readonly "not.userId"?: readonly string[] | undefined;
  /** Leaves out the entries that `ownerId` would select. May be repeated to match any of several values. */
  readonly "not.ownerId"?: readonly string[] | undefined;
  /** Leaves out the entries that `tenantId` would select. May be repeated to match any of several values. */
  readonly "not.tenantId"?: readonly string[] | undefined;
  /** Leaves out the entries that `action` would select. May be repeated to match any of several values. */
  readonly "not.action"?: readonly string[] | undefined;
  /** Leaves out the entries that `resource` would select. May be repeated to match any of several values. */
  readonly "not.resource"?: readonly string[] | undefined;
  /** Leaves out the entries that `result` would select. May be repeated to match any of several values. */
  readonly "not.result"?: readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
  /** Leaves out the entries that `reason` would select. May be repeated to match any of several values. */
  readonly "not.reason"?: readonly string[] | undefined;
  /** Leaves out the entries that `delegationId` would select. May be repeated to match any of several values. */
  readonly "not.delegationId"?: readonly string[] | undefined;
  /** Leaves out the entries that `clientId` would select. May be repeated to match any of several values. */
  readonly "not.clientId"?: readonly string[] | undefined;
  /** Leaves out the entries that `ip` would select. May be repeated to match any of several values. */
  readonly "not.ip"?: readonly string[] | undefined;
} | null;

export interface WebhookWithSecret {
  readonly id: string;
  readonly ownerId: string;
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly filters: Record<string, readonly string[]> | null;
  readonly format: Open<"slack" | "teams" | "discord"> | null;
  readonly enabled: boolean;
  /** `disabled`: by a caller; `gone`: the receiver answered 410; `agent-not-allowed`: the agent that set the address was revoked, has expired, or may no longer read events. */
  readonly disabledReason: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Signing secret (`whsec_...`, Standard Webhooks). Shown once. */
  readonly secret: string;
}

/** The workload that got the access token with a token of its platform. */
export interface Workload {
  readonly issuer: string;
  readonly subject: string;
}

export interface WorkloadTrust {
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  readonly audience?: string | undefined;
  readonly claims?: Record<string, string | number | boolean> | undefined;
  readonly createdAt: string;
}

/** Filters of the event stream. */
export interface StreamQuery {
  /** The Bearer token, for clients that cannot send the header. Prefer a ticket, because logs may contain addresses. */
  readonly token?: string | undefined;
  /** From POST /events/ticket. Valid for one stream. */
  readonly ticket?: string | undefined;
  /** Types of events, separated by commas. */
  readonly types?: readonly string[] | undefined;
  /** Replays events from this time on, inclusive. */
  readonly since?: string | undefined;
  /** Like the header Last-Event-ID, which takes precedence. */
  readonly lastEventId?: string | undefined;
  /** May be repeated to match any of several values. */
  readonly agentId?: readonly string[] | undefined;
  /** Owner of the agent. May be repeated to match any of several values. */
  readonly userId?: readonly string[] | undefined;
  /** As userId. May be repeated to match any of several values. */
  readonly ownerId?: readonly string[] | undefined;
  /** Tenant of the owner; of a deleted owner, those of the agents. May be repeated to match any of several values. */
  readonly tenantId?: readonly string[] | undefined;
  /** May be repeated to match any of several values. */
  readonly action?: readonly string[] | undefined;
  /** `prefix:*` matches everything below the prefix. May be repeated to match any of several values. */
  readonly resource?: readonly string[] | undefined;
  /** May be repeated to match any of several values. */
  readonly result?: readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
  /** May be repeated to match any of several values. */
  readonly reason?: readonly string[] | undefined;
  /** A delegation of the chain. May be repeated to match any of several values. */
  readonly delegationId?: readonly string[] | undefined;
  /** OAuth client through which the decision was requested or the change was made. May be repeated to match any of several values. */
  readonly clientId?: readonly string[] | undefined;
  /** May be repeated to match any of several values. */
  readonly ip?: readonly string[] | undefined;
  /** Leaves out the entries that `agentId` would select. May be repeated to match any of several values. */
  readonly "not.agentId"?: readonly string[] | undefined;
  /** Leaves out the entries that `userId` would select. May be repeated to match any of several values. */
  readonly "not.userId"?: readonly string[] | undefined;
  /** Leaves out the entries that `ownerId` would select. May be repeated to match any of several values. */
  readonly "not.ownerId"?: readonly string[] | undefined;
  /** Leaves out the entries that `tenantId` would select. May be repeated to match any of several values. */
  readonly "not.tenantId"?: readonly string[] | undefined;
  /** Leaves out the entries that `action` would select. May be repeated to match any of several values. */
  readonly "not.action"?: readonly string[] | undefined;
  /** Leaves out the entries that `resource` would select. May be repeated to match any of several values. */
  readonly "not.resource"?: readonly string[] | undefined;
  /** Leaves out the entries that `result` would select. May be repeated to match any of several values. */
  readonly "not.result"?: readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
  /** Leaves out the entries that `reason` would select. May be repeated to match any of several values. */
  readonly "not.reason"?: readonly string[] | undefined;
  /** Leaves out the entries that `delegationId` would select. May be repeated to match any of several values. */
  readonly "not.delegationId"?: readonly string[] | undefined;
  /** Leaves out the entries that `clientId` would select. May be repeated to match any of several values. */
  readonly "not.clientId"?: readonly string[] | undefined;
  /** Leaves out the entries that `ip` would select. May be repeated to match any of several values. */
  readonly "not.ip"?: readonly string[] | undefined;
  /** Maximum number of events per second, 1 to 9999. Further events are left out and counted in `event: skipped`. */
  readonly maxPerSecond?: number | undefined;
  /** true: `event: tick` once a second with the number of decisions by result. */
  readonly ticks?: "true" | "false" | undefined;
}

/** The API: resources and their operations. */
export interface Resources {
  /** Decide whether an agent may perform an action on a resource. `POST /authorize` */
  authorize(body: AuthorizeRequest, options?: RequestOptions): Promise<AuthorizeDecision>;
  /** Decide up to 100 questions. `POST /authorize/batch` */
  authorizeBatch(body: {
    readonly requests: readonly AuthorizeRequest[];
  }, options?: RequestOptions): Promise<{
    readonly results: readonly (AuthorizeDecision | {
      readonly error: {
        readonly code: string;
        readonly message: string;
      };
    })[];
  }>;
  readonly agents: {
    /** Filter resources by what an agent may do. `POST /agents/{id}/permissions/filter` */
    filterPermissions(id: string, body: FilterRequest, options?: RequestOptions): Promise<{
      /** In the order of the request. */
      readonly resources: readonly string[];
    }>;
    /** Register an agent. `POST /agents` */
    create(body: CreateAgentRequest, options?: RequestOptions): Promise<AgentWithToken>;
    /** List agents. `GET /agents` */
    list(query: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly status?: "active" | "revoked" | "expired" | readonly ("active" | "revoked" | "expired")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly type?: "autonomous" | "delegated" | "service" | readonly ("autonomous" | "delegated" | "service")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** Words, or beginnings of words, of the name. All must occur. */
      readonly q?: string | undefined;
      /** Up to 500 ids, separated by commas. */
      readonly ids?: string | readonly string[] | undefined;
      /** Only agents that expire before this time. */
      readonly expiresBefore?: string | Date | undefined;
      /** Only agents without a decision at or after this time. */
      readonly idleSince?: string | Date | undefined;
      /** createdAt by default; - in front for descending. Equal values are in order of creation. */
      readonly sort?: "name" | "-name" | "createdAt" | "-createdAt" | "lastDecisionAt" | "-lastDecisionAt" | "calls" | "-calls" | "refused" | "-refused" | undefined;
      /** summary: AgentSummary instead of Agent. */
      readonly view?: "full" | "summary" | undefined;
    } & { readonly view: 'summary' }, options?: RequestOptions): List<AgentSummary>;
    /** List agents. `GET /agents` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly status?: "active" | "revoked" | "expired" | readonly ("active" | "revoked" | "expired")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly type?: "autonomous" | "delegated" | "service" | readonly ("autonomous" | "delegated" | "service")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** Words, or beginnings of words, of the name. All must occur. */
      readonly q?: string | undefined;
      /** Up to 500 ids, separated by commas. */
      readonly ids?: string | readonly string[] | undefined;
      /** Only agents that expire before this time. */
      readonly expiresBefore?: string | Date | undefined;
      /** Only agents without a decision at or after this time. */
      readonly idleSince?: string | Date | undefined;
      /** createdAt by default; - in front for descending. Equal values are in order of creation. */
      readonly sort?: "name" | "-name" | "createdAt" | "-createdAt" | "lastDecisionAt" | "-lastDecisionAt" | "calls" | "-calls" | "refused" | "-refused" | undefined;
      /** summary: AgentSummary instead of Agent. */
      readonly view?: "full" | "summary" | undefined;
    }, options?: RequestOptions): List<Agent>;
    /** Get an agent. `GET /agents/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Agent>;
    /** Change an agent: what it would do (contract 17.8). */
    update(id: string, body: UpdateAgentRequest, options: RequestOptions & { readonly preview: true }): Promise<Preview>;
    /** Change an agent. `PATCH /agents/{id}` */
    update(id: string, body: UpdateAgentRequest, options?: RequestOptions): Promise<Agent>;
    /** Revoke an agent permanently: what it would do (contract 17.8). */
    revoke(id: string, query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** Revoke an agent permanently. `DELETE /agents/{id}` */
    revoke(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** Revoke an agent permanently: what it would do (contract 17.8). */
    delete(id: string, query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** Revoke an agent permanently. `DELETE /agents/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** Revoke several agents permanently: what it would do (contract 17.8). */
    revokeMany(body: RevokeAgentsRequest, options: RequestOptions & { readonly preview: true }): Promise<Preview>;
    /** Revoke several agents permanently. `POST /agents/revoke` */
    revokeMany(body: RevokeAgentsRequest, options?: RequestOptions): Promise<void>;
    /** Issue a new agent token. `POST /agents/{id}/rotate` */
    rotate(id: string, body?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<AgentWithToken>;
    /** List what an agent may do now. `GET /agents/{id}/permissions` */
    permissions(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<readonly EffectivePermission[]>;
    /** List the versions of an agent. `GET /agents/{id}/history` */
    history(id: string, query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
    }, options?: RequestOptions): List<PolicyVersion>;
    /** Repeat recorded decisions with a draft of the permissions. `POST /agents/{id}/permissions/replay` */
    replay(id: string, body: ReplayRequest, options?: RequestOptions): Promise<Replay>;
    readonly trust: {
      /** Let a workload act as an agent. `POST /agents/{id}/trust` */
      create(id: string, body: TrustWorkloadRequest, options?: RequestOptions): Promise<WorkloadTrust>;
      /** List the workloads that may act as an agent. `GET /agents/{id}/trust` */
      list(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<readonly WorkloadTrust[]>;
      /** Remove all trusted workloads of an agent. `DELETE /agents/{id}/trust` */
      deleteAll(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
      /** Remove a trusted workload of an agent. `DELETE /agents/{id}/trust/{trustId}` */
      delete(id: string, trustId: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
    readonly keys: {
      /** Set the public keys of an agent. `PUT /agents/{id}/keys` */
      set(id: string, body: SetAgentKeysRequest, options?: RequestOptions): Promise<AgentKeys>;
      /** Get the public keys of an agent. `GET /agents/{id}/keys` */
      get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<AgentKeys>;
      /** Remove the public keys of an agent. `DELETE /agents/{id}/keys` */
      delete(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
  };
  readonly permissions: {
    /** List the agents that may perform an action on a resource. `GET /permissions/subjects` */
    subjects(query: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      readonly action: string;
      readonly resource: string;
    }, options?: RequestOptions): List<{
      readonly agentId: string;
      readonly name: string;
      readonly ownerId: string;
      readonly via: {
        readonly type: "own";
      } | {
        readonly type: "delegation";
        /** The chain, from the root to the agent. */
        readonly delegationIds: readonly string[];
      };
    }>;
  };
  readonly tenants: {
    /** Create a tenant. `POST /tenants` */
    create(body: CreateTenantRequest, options?: RequestOptions): Promise<Tenant>;
    /** List tenants. `GET /tenants` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
    }, options?: RequestOptions): List<Tenant>;
    /** Get a tenant. `GET /tenants/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Tenant>;
    /** Change name or slug of a tenant. `PATCH /tenants/{id}` */
    update(id: string, body: UpdateTenantRequest, options?: RequestOptions): Promise<Tenant>;
    /** Delete a tenant to which nobody belongs. `DELETE /tenants/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
  };
  readonly sessions: {
    /** List the caller's sessions. `GET /auth/sessions` */
    list(query?: Record<string, never>, options?: RequestOptions): Promise<SessionList>;
    /** End one of the caller's sessions: what it would do (contract 17.8). */
    revoke(id: string, query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** End one of the caller's sessions. `DELETE /auth/sessions/{id}` */
    revoke(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** End one of the caller's sessions: what it would do (contract 17.8). */
    delete(id: string, query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** End one of the caller's sessions. `DELETE /auth/sessions/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** End all of the caller's sessions except the current one: what it would do (contract 17.8). */
    revokeAll(query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** End all of the caller's sessions except the current one. `DELETE /auth/sessions` */
    revokeAll(query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<RevokedSessions>;
    /** Get the caller and their session. `GET /auth/session` */
    current(query?: Record<string, never>, options?: RequestOptions): Promise<SessionAndUser>;
  };
  readonly users: {
    readonly sessions: {
      /** List the sessions of a user. `GET /users/{id}/sessions` */
      list(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<SessionList>;
      /** End all sessions of a user: what it would do (contract 17.8). */
      revokeAll(id: string, query: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
      /** End all sessions of a user. `DELETE /users/{id}/sessions` */
      revokeAll(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<RevokedSessions>;
      /** End one session of a user: what it would do (contract 17.8). */
      revoke(id: string, sid: string, query: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
      /** End one session of a user. `DELETE /users/{id}/sessions/{sid}` */
      revoke(id: string, sid: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
      /** End one session of a user: what it would do (contract 17.8). */
      delete(id: string, sid: string, query: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
      /** End one session of a user. `DELETE /users/{id}/sessions/{sid}` */
      delete(id: string, sid: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
    /** List users. `GET /users` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly role?: "user" | "admin" | "auditor" | readonly ("user" | "admin" | "auditor")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** Exactly this address, ignoring case. May be repeated to match any of several values. */
      readonly email?: string | readonly string[] | undefined;
      /** Words, or beginnings of words, of name and address. All must occur. */
      readonly q?: string | undefined;
    }, options?: RequestOptions): List<User>;
    /** Get a user. `GET /users/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<User>;
    /** Change role, tenant, name or status of a user: what it would do (contract 17.8). */
    update(id: string, body: UpdateUserRequest, options: RequestOptions & { readonly preview: true }): Promise<Preview>;
    /** Change role, tenant, name or status of a user. `PATCH /users/{id}` */
    update(id: string, body: UpdateUserRequest, options?: RequestOptions): Promise<User>;
    /** Delete a user: what it would do (contract 17.8). */
    delete(id: string, query: {
      /** Whether the ledger also erases personal data of the user. */
      readonly erase?: boolean | undefined;
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** Delete a user. `DELETE /users/{id}` */
    delete(id: string, query?: {
      /** Whether the ledger also erases personal data of the user. */
      readonly erase?: boolean | undefined;
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<Erasure | undefined>;
    readonly secondFactor: {
      /** Switch off the second factor of a user. `DELETE /users/{id}/second-factor` */
      delete(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
  };
  /** Create an account and sign in. `POST /sign-up` */
  signUp(body: SignUpRequest, options?: RequestOptions): Promise<SignedIn | Done>;
  /** Sign in with e-mail address and password. `POST /sign-in` */
  signIn(body: SignInRequest, options?: RequestOptions): Promise<SignedIn | TwoFactorRequired>;
  /** End the session of this call. `POST /sign-out` */
  signOut(body?: {
    /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
    readonly reason?: string | undefined;
  }, options?: RequestOptions): Promise<void>;
  readonly password: {
    /** Change the caller's password. `POST /password/change` */
    change(body: ChangePasswordRequest, options?: RequestOptions): Promise<Done>;
    /** Mail a link for setting a new password. `POST /password/forgot` */
    forgot(body: AskForMailRequest, options?: RequestOptions): Promise<Done>;
    /** Set a new password with the token of a mail. `POST /password/reset` */
    reset(body: ResetPasswordRequest, options?: RequestOptions): Promise<Done>;
  };
  readonly verifyEmail: {
    /** Mail a link that verifies an e-mail address. `POST /verify-email/send` */
    send(body: AskForMailRequest, options?: RequestOptions): Promise<Done>;
    /** Verify an e-mail address with the token of a mail. `POST /verify-email` */
    confirm(body: UseLinkRequest, options?: RequestOptions): Promise<Done>;
  };
  readonly invites: {
    /** Invite a person to create an account. `POST /invites` */
    create(body: CreateInviteRequest, options?: RequestOptions): Promise<NewInvite>;
    /** List invitations that can still be accepted. `GET /invites` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
    }, options?: RequestOptions): List<Invite>;
    /** Withdraw an invitation. `DELETE /invites/{id}` */
    revoke(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** Withdraw an invitation. `DELETE /invites/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
  };
  /** Create the first administrator and sign in. `POST /setup` */
  setup(body: SetupRequest, options?: RequestOptions): Promise<SignedIn>;
  readonly totp: {
    /** Set up a second factor. `POST /totp/enable` */
    enable(body: ProvePasswordRequest, options?: RequestOptions): Promise<TotpEnabling>;
    /** Verify a code of the second factor. `POST /totp/verify` */
    verify(body: VerifyTotpRequest, options?: RequestOptions): Promise<SignedIn>;
    /** Switch off the second factor. `POST /totp/disable` */
    disable(body: DisableTotpRequest, options?: RequestOptions): Promise<Done>;
  };
  readonly magicLink: {
    /** Mail a link that signs in. `POST /magic-link` */
    send(body: AskForMailRequest, options?: RequestOptions): Promise<Done>;
    /** Sign in with the token of a mail. `POST /magic-link/verify` */
    verify(body: UseLinkRequest, options?: RequestOptions): Promise<SignedIn | TwoFactorRequired>;
  };
  readonly emailOtp: {
    /** Mail a code that signs in. `POST /email-otp` */
    send(body: SendCodeRequest, options?: RequestOptions): Promise<CodeSent>;
    /** Sign in with the code of a mail. `POST /email-otp/verify` */
    verify(body: VerifyCodeRequest, options?: RequestOptions): Promise<SignedIn | TwoFactorRequired>;
  };
  readonly passkeys: {
    /** Start adding a passkey. `POST /passkeys/register/options` */
    registrationOptions(body?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<PasskeyRegistrationOptions>;
    /** Add a passkey. `POST /passkeys/register/verify` */
    register(body: VerifyPasskeyRegistrationRequest, options?: RequestOptions): Promise<Passkey>;
    /** Start a sign-in with a passkey. `POST /passkeys/sign-in/options` */
    signInOptions(body?: Record<string, never>, options?: RequestOptions): Promise<PasskeySignInOptions>;
    /** Sign in with a passkey. `POST /passkeys/sign-in/verify` */
    signIn(body: VerifyPasskeySignInRequest, options?: RequestOptions): Promise<SignedIn>;
    /** List the caller's passkeys. `GET /passkeys` */
    list(query?: Record<string, never>, options?: RequestOptions): Promise<readonly Passkey[]>;
    /** Remove a passkey. `DELETE /passkeys/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
  };
  readonly apiTokens: {
    /** Create an API token. `POST /api-tokens` */
    create(body: CreateApiTokenRequest, options?: RequestOptions): Promise<ApiTokenWithSecret>;
    /** List the caller's API tokens. `GET /api-tokens` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
    }, options?: RequestOptions): List<ApiToken>;
    /** Revoke an API token: what it would do (contract 17.8). */
    revoke(id: string, query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** Revoke an API token. `DELETE /api-tokens/{id}` */
    revoke(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** Revoke an API token: what it would do (contract 17.8). */
    delete(id: string, query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** Revoke an API token. `DELETE /api-tokens/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
  };
  readonly scim: {
    readonly users: {
      /** List SCIM users. `GET /scim/v2/Users` */
      list(query?: {
        readonly filter?: string | undefined;
        /** Position of the first resource, from 1. */
        readonly startIndex?: string | undefined;
        /** At most 200. Default: 100. */
        readonly count?: string | undefined;
        readonly attributes?: string | undefined;
        readonly excludedAttributes?: string | undefined;
        readonly sortBy?: string | undefined;
        readonly sortOrder?: string | undefined;
      }, options?: RequestOptions): Promise<ScimListResponse>;
      /** Create a SCIM user. `POST /scim/v2/Users` */
      create(body: ScimUserRequest, options?: RequestOptions): Promise<ScimResource>;
      /** Get a SCIM user. `GET /scim/v2/Users/{id}` */
      get(id: string, query?: {
        readonly attributes?: string | undefined;
        readonly excludedAttributes?: string | undefined;
      }, options?: RequestOptions): Promise<ScimResource>;
      /** Replace a SCIM user. `PUT /scim/v2/Users/{id}` */
      replace(id: string, body: ScimUserRequest, options?: RequestOptions): Promise<ScimResource>;
      /** Patch a SCIM user. `PATCH /scim/v2/Users/{id}` */
      update(id: string, body: ScimPatchRequest, options?: RequestOptions): Promise<ScimResource>;
      /** Delete a SCIM user. `DELETE /scim/v2/Users/{id}` */
      delete(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
    readonly groups: {
      /** List SCIM groups. `GET /scim/v2/Groups` */
      list(query?: {
        readonly filter?: string | undefined;
        /** Position of the first resource, from 1. */
        readonly startIndex?: string | undefined;
        /** At most 200. Default: 100. */
        readonly count?: string | undefined;
        readonly attributes?: string | undefined;
        readonly excludedAttributes?: string | undefined;
        readonly sortBy?: string | undefined;
        readonly sortOrder?: string | undefined;
      }, options?: RequestOptions): Promise<ScimListResponse>;
      /** Create a SCIM group. `POST /scim/v2/Groups` */
      create(body: ScimGroupRequest, options?: RequestOptions): Promise<ScimResource>;
      /** Get a SCIM group. `GET /scim/v2/Groups/{id}` */
      get(id: string, query?: {
        readonly attributes?: string | undefined;
        readonly excludedAttributes?: string | undefined;
      }, options?: RequestOptions): Promise<ScimResource>;
      /** Replace a SCIM group. `PUT /scim/v2/Groups/{id}` */
      replace(id: string, body: ScimGroupRequest, options?: RequestOptions): Promise<ScimResource>;
      /** Patch a SCIM group. `PATCH /scim/v2/Groups/{id}` */
      update(id: string, body: ScimPatchRequest, options?: RequestOptions): Promise<ScimResource>;
      /** Delete a SCIM group. `DELETE /scim/v2/Groups/{id}` */
      delete(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
    /** Get the SCIM service provider configuration. `GET /scim/v2/ServiceProviderConfig` */
    serviceProviderConfig(query?: Record<string, never>, options?: RequestOptions): Promise<ScimServiceProviderConfig>;
    readonly resourceTypes: {
      /** List SCIM resource types. `GET /scim/v2/ResourceTypes` */
      list(query?: Record<string, never>, options?: RequestOptions): Promise<ScimListResponse>;
      /** Get a SCIM resource type. `GET /scim/v2/ResourceTypes/{id}` */
      get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<ScimResource>;
    };
    readonly schemas: {
      /** List SCIM schemas. `GET /scim/v2/Schemas` */
      list(query?: Record<string, never>, options?: RequestOptions): Promise<ScimListResponse>;
      /** Get a SCIM schema. `GET /scim/v2/Schemas/{id}` */
      get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<ScimResource>;
    };
  };
  readonly issuers: {
    /** Trust an issuer of tokens. `POST /issuers` */
    create(body: CreateIssuerRequest, options?: RequestOptions): Promise<Issuer>;
    /** List issuers. `GET /issuers` */
    list(query?: Record<string, never>, options?: RequestOptions): Promise<readonly Issuer[]>;
    /** Get an issuer. `GET /issuers/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Issuer>;
    /** Change an issuer. `PATCH /issuers/{id}` */
    update(id: string, body: UpdateIssuerRequest, options?: RequestOptions): Promise<Issuer>;
    /** Stop trusting an issuer. `DELETE /issuers/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
  };
  readonly auth: {
    readonly oidc: {
      /** Logout at an identity provider. `POST /auth/oidc/{name}/logout` */
      logout(name: string, body: {
        readonly logout_token: string;
      }, options?: RequestOptions): Promise<void>;
    };
  };
  readonly delegations: {
    /** Delegate a subset of permissions from one agent to another. `POST /delegations` */
    create(body: CreateDelegation, options?: RequestOptions): Promise<Delegation>;
    /** List active delegations. `GET /delegations` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly fromAgent?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly toAgent?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): List<Delegation>;
    /** Get agents and the delegations between them. `GET /delegations/graph` */
    graph(query?: {
      /** The agent in the middle; without it, every visible delegation. */
      readonly agentId?: string | undefined;
      /** Delegations between the agent and the farthest one. */
      readonly depth?: number | undefined;
      /** true: with delegations that have ended. */
      readonly ended?: boolean | undefined;
    }, options?: RequestOptions): Promise<DelegationGraph>;
    /** Get an active delegation. `GET /delegations/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Delegation>;
    /** Revoke a delegation and all that descend from it: what it would do (contract 17.8). */
    revoke(id: string, query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** Revoke a delegation and all that descend from it. `DELETE /delegations/{id}` */
    revoke(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** Revoke a delegation and all that descend from it: what it would do (contract 17.8). */
    delete(id: string, query: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
    /** Revoke a delegation and all that descend from it. `DELETE /delegations/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** List the versions of a delegation. `GET /delegations/{id}/history` */
    history(id: string, query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
    }, options?: RequestOptions): List<PolicyVersion>;
  };
  readonly approvals: {
    /** List approvals. `GET /approvals` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly status?: "pending" | "approved" | "denied" | "used" | "expired" | readonly ("pending" | "approved" | "denied" | "used" | "expired")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** The order: newest first (-createdAt), or what expires first (expiresAt). */
      readonly sort?: "-createdAt" | "expiresAt" | undefined;
    }, options?: RequestOptions): List<Approval>;
    /** Get an approval. `GET /approvals/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Approval>;
    /** Approve a waiting call. `POST /approvals/{id}/approve` */
    approve(id: string, body?: {
      readonly note?: string | undefined;
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<Approval>;
    /** Deny a waiting call. `POST /approvals/{id}/deny` */
    deny(id: string, body?: {
      readonly note?: string | undefined;
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<Approval>;
  };
  readonly audit: {
    /** List audit entries. `GET /audit` */
    list(query?: {
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      /** Owner of the agent. May be repeated to match any of several values. */
      readonly userId?: string | readonly string[] | undefined;
      /** As userId. May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** Tenant of the owner; of a deleted owner, those of the agents. May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly action?: string | readonly string[] | undefined;
      /** `prefix:*` matches everything below the prefix. May be repeated to match any of several values. */
      readonly resource?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly result?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly reason?: string | readonly string[] | undefined;
      /** A delegation of the chain. May be repeated to match any of several values. */
      readonly delegationId?: string | readonly string[] | undefined;
      /** OAuth client through which the decision was requested or the change was made. May be repeated to match any of several values. */
      readonly clientId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ip?: string | readonly string[] | undefined;
      /** Leaves out the entries that `agentId` would select. May be repeated to match any of several values. */
      readonly "not.agentId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `userId` would select. May be repeated to match any of several values. */
      readonly "not.userId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ownerId` would select. May be repeated to match any of several values. */
      readonly "not.ownerId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `tenantId` would select. May be repeated to match any of several values. */
      readonly "not.tenantId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `action` would select. May be repeated to match any of several values. */
      readonly "not.action"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `resource` would select. May be repeated to match any of several values. */
      readonly "not.resource"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `result` would select. May be repeated to match any of several values. */
      readonly "not.result"?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** Leaves out the entries that `reason` would select. May be repeated to match any of several values. */
      readonly "not.reason"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `delegationId` would select. May be repeated to match any of several values. */
      readonly "not.delegationId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `clientId` would select. May be repeated to match any of several values. */
      readonly "not.clientId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ip` would select. May be repeated to match any of several values. */
      readonly "not.ip"?: string | readonly string[] | undefined;
      /** Up to 100 ids, separated by commas. */
      readonly ids?: string | readonly string[] | undefined;
      /** Leaves out these entries. */
      readonly "not.ids"?: string | readonly string[] | undefined;
      /** Inclusive. */
      readonly since?: string | Date | undefined;
      /** Exclusive. */
      readonly until?: string | Date | undefined;
      /** Actions, separated by commas, any of which may match. */
      readonly actions?: string | readonly string[] | undefined;
      readonly limit?: number | undefined;
      readonly offset?: number | undefined;
      /** desc: newest first. */
      readonly order?: "asc" | "desc" | undefined;
      /** Id of an entry. The page has it in the middle. */
      readonly around?: string | undefined;
      /** From the Link header of another page. */
      readonly cursor?: string | undefined;
    }, options?: RequestOptions): List<AuditEntry>;
    /** Export audit entries. `GET /audit/export` */
    export(query: {
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      /** Owner of the agent. May be repeated to match any of several values. */
      readonly userId?: string | readonly string[] | undefined;
      /** As userId. May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** Tenant of the owner; of a deleted owner, those of the agents. May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly action?: string | readonly string[] | undefined;
      /** `prefix:*` matches everything below the prefix. May be repeated to match any of several values. */
      readonly resource?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly result?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly reason?: string | readonly string[] | undefined;
      /** A delegation of the chain. May be repeated to match any of several values. */
      readonly delegationId?: string | readonly string[] | undefined;
      /** OAuth client through which the decision was requested or the change was made. May be repeated to match any of several values. */
      readonly clientId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ip?: string | readonly string[] | undefined;
      /** Leaves out the entries that `agentId` would select. May be repeated to match any of several values. */
      readonly "not.agentId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `userId` would select. May be repeated to match any of several values. */
      readonly "not.userId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ownerId` would select. May be repeated to match any of several values. */
      readonly "not.ownerId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `tenantId` would select. May be repeated to match any of several values. */
      readonly "not.tenantId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `action` would select. May be repeated to match any of several values. */
      readonly "not.action"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `resource` would select. May be repeated to match any of several values. */
      readonly "not.resource"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `result` would select. May be repeated to match any of several values. */
      readonly "not.result"?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** Leaves out the entries that `reason` would select. May be repeated to match any of several values. */
      readonly "not.reason"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `delegationId` would select. May be repeated to match any of several values. */
      readonly "not.delegationId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `clientId` would select. May be repeated to match any of several values. */
      readonly "not.clientId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ip` would select. May be repeated to match any of several values. */
      readonly "not.ip"?: string | readonly string[] | undefined;
      /** Up to 100 ids, separated by commas. */
      readonly ids?: string | readonly string[] | undefined;
      /** Leaves out these entries. */
      readonly "not.ids"?: string | readonly string[] | undefined;
      /** Inclusive. */
      readonly since?: string | Date | undefined;
      /** Exclusive. */
      readonly until?: string | Date | undefined;
      /** Actions, separated by commas, any of which may match. */
      readonly actions?: string | readonly string[] | undefined;
      readonly format: "json" | "csv" | "ndjson" | "sealed";
      /** asc: oldest first. */
      readonly order?: "asc" | "desc" | undefined;
      /** Sequence number of the first row. */
      readonly fromSeq?: number | undefined;
      /** Sequence number of the last row. */
      readonly toSeq?: number | undefined;
    }, options?: RequestOptions): Promise<Response>;
    /** Count audit entries over time. `GET /audit/histogram` */
    histogram(query?: {
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      /** Owner of the agent. May be repeated to match any of several values. */
      readonly userId?: string | readonly string[] | undefined;
      /** As userId. May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** Tenant of the owner; of a deleted owner, those of the agents. May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly action?: string | readonly string[] | undefined;
      /** `prefix:*` matches everything below the prefix. May be repeated to match any of several values. */
      readonly resource?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly result?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly reason?: string | readonly string[] | undefined;
      /** A delegation of the chain. May be repeated to match any of several values. */
      readonly delegationId?: string | readonly string[] | undefined;
      /** OAuth client through which the decision was requested or the change was made. May be repeated to match any of several values. */
      readonly clientId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ip?: string | readonly string[] | undefined;
      /** Leaves out the entries that `agentId` would select. May be repeated to match any of several values. */
      readonly "not.agentId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `userId` would select. May be repeated to match any of several values. */
      readonly "not.userId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ownerId` would select. May be repeated to match any of several values. */
      readonly "not.ownerId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `tenantId` would select. May be repeated to match any of several values. */
      readonly "not.tenantId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `action` would select. May be repeated to match any of several values. */
      readonly "not.action"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `resource` would select. May be repeated to match any of several values. */
      readonly "not.resource"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `result` would select. May be repeated to match any of several values. */
      readonly "not.result"?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** Leaves out the entries that `reason` would select. May be repeated to match any of several values. */
      readonly "not.reason"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `delegationId` would select. May be repeated to match any of several values. */
      readonly "not.delegationId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `clientId` would select. May be repeated to match any of several values. */
      readonly "not.clientId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ip` would select. May be repeated to match any of several values. */
      readonly "not.ip"?: string | readonly string[] | undefined;
      /** Up to 100 ids, separated by commas. */
      readonly ids?: string | readonly string[] | undefined;
      /** Leaves out these entries. */
      readonly "not.ids"?: string | readonly string[] | undefined;
      /** Inclusive. */
      readonly since?: string | Date | undefined;
      /** Exclusive. */
      readonly until?: string | Date | undefined;
      /** Actions, separated by commas, any of which may match. */
      readonly actions?: string | readonly string[] | undefined;
      readonly buckets?: number | undefined;
    }, options?: RequestOptions): Promise<AuditHistogram>;
    /** Count audit entries by value. `GET /audit/facets` */
    facets(query: {
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      /** Owner of the agent. May be repeated to match any of several values. */
      readonly userId?: string | readonly string[] | undefined;
      /** As userId. May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** Tenant of the owner; of a deleted owner, those of the agents. May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly action?: string | readonly string[] | undefined;
      /** `prefix:*` matches everything below the prefix. May be repeated to match any of several values. */
      readonly resource?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly result?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly reason?: string | readonly string[] | undefined;
      /** A delegation of the chain. May be repeated to match any of several values. */
      readonly delegationId?: string | readonly string[] | undefined;
      /** OAuth client through which the decision was requested or the change was made. May be repeated to match any of several values. */
      readonly clientId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ip?: string | readonly string[] | undefined;
      /** Leaves out the entries that `agentId` would select. May be repeated to match any of several values. */
      readonly "not.agentId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `userId` would select. May be repeated to match any of several values. */
      readonly "not.userId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ownerId` would select. May be repeated to match any of several values. */
      readonly "not.ownerId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `tenantId` would select. May be repeated to match any of several values. */
      readonly "not.tenantId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `action` would select. May be repeated to match any of several values. */
      readonly "not.action"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `resource` would select. May be repeated to match any of several values. */
      readonly "not.resource"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `result` would select. May be repeated to match any of several values. */
      readonly "not.result"?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** Leaves out the entries that `reason` would select. May be repeated to match any of several values. */
      readonly "not.reason"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `delegationId` would select. May be repeated to match any of several values. */
      readonly "not.delegationId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `clientId` would select. May be repeated to match any of several values. */
      readonly "not.clientId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ip` would select. May be repeated to match any of several values. */
      readonly "not.ip"?: string | readonly string[] | undefined;
      /** Up to 100 ids, separated by commas. */
      readonly ids?: string | readonly string[] | undefined;
      /** Leaves out these entries. */
      readonly "not.ids"?: string | readonly string[] | undefined;
      /** Inclusive. */
      readonly since?: string | Date | undefined;
      /** Exclusive. */
      readonly until?: string | Date | undefined;
      /** Actions, separated by commas, any of which may match. */
      readonly actions?: string | readonly string[] | undefined;
      readonly by: "reason" | "action" | "resource" | "agentId" | "ip";
      readonly limit?: number | undefined;
    }, options?: RequestOptions): Promise<AuditFacets>;
    /** Get an audit entry. `GET /audit/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<AuditEntry>;
    /** Explain a recorded decision. `GET /audit/{id}/explain` */
    explain(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<ExplainedAuditEntry>;
    /** Prove that an audit entry is in the ledger. `GET /audit/{id}/proof` */
    proof(id: string, query?: {
      /** withhold: the proof does not contain the private fields. */
      readonly private?: "withhold" | undefined;
    }, options?: RequestOptions): Promise<Response>;
    /** Erase audit entries: what it would do (contract 17.8). */
    erasures(body: {
      /** Entries of the agents of this user, who may already be deleted. */
      readonly userId?: string | undefined;
      /** Entries of this agent. */
      readonly agentId?: string | undefined;
      /** These entries. */
      readonly auditIds?: readonly string[] | undefined;
      /** Entries before this time. */
      readonly before?: string | undefined;
      /** private: parameters, address and user agent. entry: the whole entry, if `audit.eraseEntries` allows it. */
      readonly what?: "private" | "entry" | undefined;
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options: RequestOptions & { readonly preview: true }): Promise<Preview>;
    /** Erase audit entries. `POST /audit/erasures` */
    erasures(body: {
      /** Entries of the agents of this user, who may already be deleted. */
      readonly userId?: string | undefined;
      /** Entries of this agent. */
      readonly agentId?: string | undefined;
      /** These entries. */
      readonly auditIds?: readonly string[] | undefined;
      /** Entries before this time. */
      readonly before?: string | undefined;
      /** private: parameters, address and user agent. entry: the whole entry, if `audit.eraseEntries` allows it. */
      readonly what?: "private" | "entry" | undefined;
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<Erasure>;
  };
  readonly ledger: {
    /** Get the newest checkpoint of the ledger. `GET /ledger/checkpoint` */
    checkpoint(query?: Record<string, never>, options?: RequestOptions): Promise<Response>;
    readonly tile: {
      readonly entries: {
        /** Get the leaves of a tile. `GET /ledger/tile/entries/{tile}` */
        get(tile: string, query?: Record<string, never>, options?: RequestOptions): Promise<Response>;
      };
      /** Get hashes of the tree. `GET /ledger/tile/{tile}` */
      get(tile: string, query?: Record<string, never>, options?: RequestOptions): Promise<Response>;
    };
    /** Prove that the ledger was only appended to. `GET /ledger/consistency` */
    consistency(query: {
      /** Size of the older tree. */
      readonly from: string;
      /** Size of the newer tree. Default: that of the newest checkpoint. */
      readonly to?: string | undefined;
    }, options?: RequestOptions): Promise<{
      readonly from: number;
      readonly to: number;
      /** Hashes in base64 (RFC 6962, section 2.1.2). */
      readonly proof: readonly string[];
      /** The newest checkpoint. */
      readonly checkpoint: string;
    }>;
    /** Get the checkpoints next to a row. `GET /ledger/checkpoints` */
    checkpoints(query: {
      /** Sequence number of a row. */
      readonly around: string;
    }, options?: RequestOptions): Promise<{
      /** Name of the sealed log. */
      readonly origin: string;
      /** The newest kept checkpoint without the row. */
      readonly before: {
        readonly size: number;
        readonly checkpoint: string;
        readonly signedAt: string;
        /** The answer of a time stamping authority about the text of the checkpoint (RFC 3161), base64. */
        readonly stamp: string | null;
      } | null;
      /** The oldest kept checkpoint with the row. */
      readonly after: {
        readonly size: number;
        readonly checkpoint: string;
        readonly signedAt: string;
        /** The answer of a time stamping authority about the text of the checkpoint (RFC 3161), base64. */
        readonly stamp: string | null;
      } | null;
    }>;
    /** List the verifier keys of the ledger. `GET /ledger/keys` */
    keys(query?: Record<string, never>, options?: RequestOptions): Promise<{
      /** Name of the sealed log. */
      readonly origin: string;
      /** Verifier keys (C2SP signed-note), the newest first. */
      readonly keys: readonly string[];
    }>;
    readonly logs: {
      /** List the logs of this ledger. `GET /ledger/logs` */
      list(query?: Record<string, never>, options?: RequestOptions): Promise<readonly ({
        readonly id: string;
        readonly origin: string;
        readonly size: number;
        readonly checkpoint: string | null;
        /** null: the current log. */
        readonly endedAt: string | null;
      })[]>;
      /** Get the newest checkpoint of the ledger of a log by its id. `GET /ledger/{log}/checkpoint` */
      checkpoint(log: string, query?: Record<string, never>, options?: RequestOptions): Promise<Response>;
      /** Get the leaves of a tile of a log by its id. `GET /ledger/{log}/tile/entries/{tile}` */
      entries(log: string, tile: string, query?: Record<string, never>, options?: RequestOptions): Promise<Response>;
      /** Get hashes of the tree of a log by its id. `GET /ledger/{log}/tile/{tile}` */
      tile(log: string, tile: string, query?: Record<string, never>, options?: RequestOptions): Promise<Response>;
      /** Prove that the ledger was only appended to of a log by its id. `GET /ledger/{log}/consistency` */
      consistency(log: string, query: {
        /** Size of the older tree. */
        readonly from: string;
        /** Size of the newer tree. Default: that of the newest checkpoint. */
        readonly to?: string | undefined;
      }, options?: RequestOptions): Promise<{
        readonly from: number;
        readonly to: number;
        /** Hashes in base64 (RFC 6962, section 2.1.2). */
        readonly proof: readonly string[];
        /** The newest checkpoint. */
        readonly checkpoint: string;
      }>;
      /** Get the checkpoints next to a row of a log by its id. `GET /ledger/{log}/checkpoints` */
      checkpoints(log: string, query: {
        /** Sequence number of a row. */
        readonly around: string;
      }, options?: RequestOptions): Promise<{
        /** Name of the sealed log. */
        readonly origin: string;
        /** The newest kept checkpoint without the row. */
        readonly before: {
          readonly size: number;
          readonly checkpoint: string;
          readonly signedAt: string;
          /** The answer of a time stamping authority about the text of the checkpoint (RFC 3161), base64. */
          readonly stamp: string | null;
        } | null;
        /** The oldest kept checkpoint with the row. */
        readonly after: {
          readonly size: number;
          readonly checkpoint: string;
          readonly signedAt: string;
          /** The answer of a time stamping authority about the text of the checkpoint (RFC 3161), base64. */
          readonly stamp: string | null;
        } | null;
      }>;
      /** List the verifier keys of the ledger of a log by its id. `GET /ledger/{log}/keys` */
      keys(log: string, query?: Record<string, never>, options?: RequestOptions): Promise<{
        /** Name of the sealed log. */
        readonly origin: string;
        /** Verifier keys (C2SP signed-note), the newest first. */
        readonly keys: readonly string[];
      }>;
      /** List the logs of this ledger of a log by its id. `GET /ledger/{log}/logs` */
      listOf(log: string, query?: Record<string, never>, options?: RequestOptions): Promise<readonly ({
        readonly id: string;
        readonly origin: string;
        readonly size: number;
        readonly checkpoint: string | null;
        /** null: the current log. */
        readonly endedAt: string | null;
      })[]>;
      /** Get the state of sealing of a log by its id. `GET /ledger/{log}/status` */
      status(log: string, query?: Record<string, never>, options?: RequestOptions): Promise<{
        readonly sealing: boolean;
        readonly origin: string | null;
        /** Rows of the ledger. */
        readonly head: number;
        /** Rows in the stored tree. */
        readonly size: number;
        /** Rows that the newest checkpoint covers. */
        readonly signedSize: number;
        /** Rows that no checkpoint covers. */
        readonly lagRows: number;
        /** The reason why signing has stopped. */
        readonly halted: string | null;
        /** Number of rows in the newest cosigned checkpoint. null without `ledger.policy`. */
        readonly cosignedSize: number | null;
        /** Number of rows in the newest published checkpoint. null without `ledger.publish`. */
        readonly publishedSize: number | null;
        /** The witnesses of `ledger.policy` that have an address. */
        readonly witnesses: readonly ({
          /** Its name in the policy. */
          readonly name: string;
          /** Its verifier key. */
          readonly key: string;
          /** Number of rows in the newest checkpoint that it has cosigned. */
          readonly size: number;
          readonly cosignedAt: string | null;
          /** The reason why the last request failed. null: it succeeded. */
          readonly failure: string | null;
          readonly failedAt: string | null;
        })[];
      }>;
      /** Prove that a row is in the ledger of a log by its id. `GET /ledger/{log}/proof` */
      proof(log: string, query: {
        /** withhold: the proof does not contain the private fields. */
        readonly private?: "withhold" | undefined;
        /** Sequence number of the row. */
        readonly seq: string;
      }, options?: RequestOptions): Promise<Response>;
    };
    /** Get the state of sealing. `GET /ledger/status` */
    status(query?: Record<string, never>, options?: RequestOptions): Promise<{
      readonly sealing: boolean;
      readonly origin: string | null;
      /** Rows of the ledger. */
      readonly head: number;
      /** Rows in the stored tree. */
      readonly size: number;
      /** Rows that the newest checkpoint covers. */
      readonly signedSize: number;
      /** Rows that no checkpoint covers. */
      readonly lagRows: number;
      /** The reason why signing has stopped. */
      readonly halted: string | null;
      /** Number of rows in the newest cosigned checkpoint. null without `ledger.policy`. */
      readonly cosignedSize: number | null;
      /** Number of rows in the newest published checkpoint. null without `ledger.publish`. */
      readonly publishedSize: number | null;
      /** The witnesses of `ledger.policy` that have an address. */
      readonly witnesses: readonly ({
        /** Its name in the policy. */
        readonly name: string;
        /** Its verifier key. */
        readonly key: string;
        /** Number of rows in the newest checkpoint that it has cosigned. */
        readonly size: number;
        readonly cosignedAt: string | null;
        /** The reason why the last request failed. null: it succeeded. */
        readonly failure: string | null;
        readonly failedAt: string | null;
      })[];
    }>;
    /** Prove that a row is in the ledger. `GET /ledger/proof` */
    proof(query: {
      /** withhold: the proof does not contain the private fields. */
      readonly private?: "withhold" | undefined;
      /** Sequence number of the row. */
      readonly seq: string;
    }, options?: RequestOptions): Promise<Response>;
  };
  readonly changes: {
    /** List who changed what. `GET /changes` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** Id of the subject: an agent, delegation, user, client, grant, server, webhook, budget and so on. May be repeated to match any of several values. */
      readonly subject?: string | readonly string[] | undefined;
      /** Id of the actor. May be repeated to match any of several values. */
      readonly actor?: string | readonly string[] | undefined;
      /** Type of the event, such as agent.updated. May be repeated to match any of several values. */
      readonly type?: string | readonly string[] | undefined;
      /** Inclusive. */
      readonly since?: string | Date | undefined;
      /** Exclusive. */
      readonly until?: string | Date | undefined;
    }, options?: RequestOptions): List<RecordedChange>;
  };
  readonly mcp: {
    readonly servers: {
      /** Register an MCP server. `POST /mcp/servers` */
      create(body: RegisterMcpServerRequest, options?: RequestOptions): Promise<McpServer>;
      /** List MCP servers. `GET /mcp/servers` */
      list(query?: {
        /** 1 to 1000. */
        readonly limit?: number | undefined;
        /** From the Link header of the page before. */
        readonly cursor?: string | undefined;
      }, options?: RequestOptions): List<McpServer>;
      /** Get an MCP server. `GET /mcp/servers/{id}` */
      get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<McpServer>;
      /** Change an MCP server: what it would do (contract 17.8). */
      update(id: string, body: UpdateMcpServerRequest, options: RequestOptions & { readonly preview: true }): Promise<Preview>;
      /** Change an MCP server. `PATCH /mcp/servers/{id}` */
      update(id: string, body: UpdateMcpServerRequest, options?: RequestOptions): Promise<McpServer>;
      /** Delete an MCP server: what it would do (contract 17.8). */
      delete(id: string, query: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
      /** Delete an MCP server. `DELETE /mcp/servers/{id}` */
      delete(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
  };
  readonly metadata: {
    /** Get the metadata of this protected resource. `GET /.well-known/oauth-protected-resource` */
    protectedResource(query?: Record<string, never>, options?: RequestOptions): Promise<ProtectedResourceMetadata>;
    /** Get the metadata of the protected resource with this path. `GET /.well-known/oauth-protected-resource/{path}` */
    protectedResourceAt(path: string, query?: Record<string, never>, options?: RequestOptions): Promise<ProtectedResourceMetadata>;
    /** Get the authorization server metadata. `GET /.well-known/oauth-authorization-server` */
    authorizationServer(query?: Record<string, never>, options?: RequestOptions): Promise<AuthorizationServerMetadata>;
    /** Get the metadata of an issuer with a path. `GET /.well-known/oauth-authorization-server/{path}` */
    authorizationServerAt(path: string, query?: Record<string, never>, options?: RequestOptions): Promise<AuthorizationServerMetadata>;
    /** Metadata of the policy decision point. `GET /.well-known/authzen-configuration` */
    authzen(query?: Record<string, never>, options?: RequestOptions): Promise<AuthZenConfiguration>;
  };
  readonly gateway: {
    readonly connections: {
      /** List the caller's connections to servers behind the gateway. `GET /gateway/connections` */
      list(query?: Record<string, never>, options?: RequestOptions): Promise<readonly GatewayConnection[]>;
      /** Store the caller's credentials for a server behind the gateway. `PUT /gateway/connections/{name}` */
      set(name: string, body: PutGatewayConnectionRequest, options?: RequestOptions): Promise<GatewayConnection>;
      /** Delete the caller's credentials for a server behind the gateway. `DELETE /gateway/connections/{name}` */
      delete(name: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
    /** Client ID metadata document of this service. `GET /gateway/client-metadata.json` */
    clientMetadataJson(query?: Record<string, never>, options?: RequestOptions): Promise<GatewayClientMetadata>;
    readonly servers: {
      /** List the MCP servers behind the gateway. `GET /gateway/servers` */
      list(query?: Record<string, never>, options?: RequestOptions): Promise<readonly GatewayServer[]>;
      readonly tools: {
        /** List the tools of an MCP server behind the gateway. `GET /gateway/servers/{name}/tools` */
        list(name: string, query?: {
          /** 1 to 1000. */
          readonly limit?: number | undefined;
          /** From the Link header of the page before. */
          readonly cursor?: string | undefined;
          /** May be repeated to match any of several values. */
          readonly state?: "approved" | "new" | "changed" | "blocked" | readonly ("approved" | "new" | "changed" | "blocked")[] | undefined;
        }, options?: RequestOptions): List<GatewayTool>;
        /** Approve a tool of an MCP server. `POST /gateway/servers/{name}/tools/{tool}/approve` */
        approve(name: string, tool: string, body?: ApproveGatewayTool, options?: RequestOptions): Promise<GatewayTool>;
        /** Block a tool of an MCP server. `POST /gateway/servers/{name}/tools/{tool}/block` */
        block(name: string, tool: string, body?: {
          /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
          readonly reason?: string | undefined;
        }, options?: RequestOptions): Promise<GatewayTool>;
      };
      /** Restart an MCP server behind the gateway. `POST /gateway/servers/{name}/restart` */
      restart(name: string, body?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
  };
  readonly oauth: {
    /** Exchange a code, a refresh token or another token for an access token. `POST /oauth/token` */
    token(body: TokenRequest, options?: RequestOptions): Promise<TokenResponse>;
    /** Start the authorization of a device. `POST /oauth/device_authorization` */
    deviceAuthorization(body: DeviceAuthorizationRequest, options?: RequestOptions): Promise<DeviceAuthorization>;
    /** Register a client. `POST /oauth/register` */
    register(body: unknown, options?: RequestOptions): Promise<ClientRegistration>;
    /** Revoke a token. `POST /oauth/revoke` */
    revoke(body: RevocationRequest, options?: RequestOptions): Promise<Revocation>;
    /** Introspect a token. `POST /oauth/introspect` */
    introspect(body: IntrospectionRequest, options?: RequestOptions): Promise<Introspection>;
    /** List the public keys of access tokens. `GET /oauth/jwks` */
    jwks(query?: Record<string, never>, options?: RequestOptions): Promise<JsonWebKeySet>;
    readonly consent: {
      /** Get the content of a custom consent page. `GET /oauth/consent` */
      get(query?: Record<string, never>, options?: RequestOptions): Promise<ConsentDetails>;
      /** Allow or deny an authorization request. `POST /oauth/consent` */
      decide(body: ConsentDecisionRequest, options?: RequestOptions): Promise<{
        readonly redirectTo: string;
      }>;
    };
    readonly grants: {
      /** List grants. `GET /oauth/grants` */
      list(query?: {
        /** 1 to 1000. */
        readonly limit?: number | undefined;
        /** From the Link header of the page before. */
        readonly cursor?: string | undefined;
      }, options?: RequestOptions): List<Grant>;
      /** Get a grant. `GET /oauth/grants/{id}` */
      get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Grant>;
      /** End a grant: what it would do (contract 17.8). */
      revoke(id: string, query: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
      /** End a grant. `DELETE /oauth/grants/{id}` */
      revoke(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
      /** End a grant: what it would do (contract 17.8). */
      delete(id: string, query: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
      /** End a grant. `DELETE /oauth/grants/{id}` */
      delete(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
    readonly clients: {
      /** Create a client. `POST /oauth/clients` */
      create(body: AdminClientMetadata, options?: RequestOptions): Promise<ClientRegistration>;
      /** List clients. `GET /oauth/clients` */
      list(query?: {
        /** 1 to 1000. */
        readonly limit?: number | undefined;
        /** From the Link header of the page before. */
        readonly cursor?: string | undefined;
      }, options?: RequestOptions): List<ClientRegistration>;
      /** Get a client. `GET /oauth/clients/{id}` */
      get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<ClientRegistration>;
      /** Delete a client: what it would do (contract 17.8). */
      delete(id: string, query: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      } & { readonly preview: true }, options?: RequestOptions): Promise<Preview>;
      /** Delete a client. `DELETE /oauth/clients/{id}` */
      delete(id: string, query?: {
        /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
        readonly reason?: string | undefined;
      }, options?: RequestOptions): Promise<void>;
    };
  };
  readonly authzen: {
    /** Decide one access evaluation. `POST /access/v1/evaluation` */
    evaluation(body: AuthZenEvaluation, options?: RequestOptions): Promise<AuthZenDecision>;
    /** Decide up to 100 access evaluations. `POST /access/v1/evaluations` */
    evaluations(body: AuthZenEvaluations, options?: RequestOptions): Promise<AuthZenDecisions | AuthZenDecision>;
    readonly search: {
      /** Search for agents that may do this. `POST /access/v1/search/subject` */
      subject(body: AuthZenSubjectSearch, options?: RequestOptions): Promise<AuthZenSubjects>;
      /** Search for resources that an agent may act on. `POST /access/v1/search/resource` */
      resource(body: AuthZenResourceSearch, options?: RequestOptions): Promise<AuthZenResources>;
      /** Search for actions that an agent may perform on a resource. `POST /access/v1/search/action` */
      action(body: AuthZenActionSearch, options?: RequestOptions): Promise<AuthZenActions>;
    };
  };
  readonly events: {
    /** Get a ticket for one event stream. `POST /events/ticket` */
    ticket(body?: Record<string, never>, options?: RequestOptions): Promise<StreamTicket>;
    /** List events. `GET /events` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of another page. */
      readonly cursor?: string | undefined;
      /** Types of events, separated by commas. */
      readonly types?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      /** Owner of the agent. May be repeated to match any of several values. */
      readonly userId?: string | readonly string[] | undefined;
      /** As userId. May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** Tenant of the owner; of a deleted owner, those of the agents. May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly action?: string | readonly string[] | undefined;
      /** `prefix:*` matches everything below the prefix. May be repeated to match any of several values. */
      readonly resource?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly result?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly reason?: string | readonly string[] | undefined;
      /** A delegation of the chain. May be repeated to match any of several values. */
      readonly delegationId?: string | readonly string[] | undefined;
      /** OAuth client through which the decision was requested or the change was made. May be repeated to match any of several values. */
      readonly clientId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ip?: string | readonly string[] | undefined;
      /** Leaves out the entries that `agentId` would select. May be repeated to match any of several values. */
      readonly "not.agentId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `userId` would select. May be repeated to match any of several values. */
      readonly "not.userId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ownerId` would select. May be repeated to match any of several values. */
      readonly "not.ownerId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `tenantId` would select. May be repeated to match any of several values. */
      readonly "not.tenantId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `action` would select. May be repeated to match any of several values. */
      readonly "not.action"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `resource` would select. May be repeated to match any of several values. */
      readonly "not.resource"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `result` would select. May be repeated to match any of several values. */
      readonly "not.result"?: "allowed" | "denied" | "rate_limited" | readonly ("allowed" | "denied" | "rate_limited")[] | undefined;
      /** Leaves out the entries that `reason` would select. May be repeated to match any of several values. */
      readonly "not.reason"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `delegationId` would select. May be repeated to match any of several values. */
      readonly "not.delegationId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `clientId` would select. May be repeated to match any of several values. */
      readonly "not.clientId"?: string | readonly string[] | undefined;
      /** Leaves out the entries that `ip` would select. May be repeated to match any of several values. */
      readonly "not.ip"?: string | readonly string[] | undefined;
      /** Up to 100 ids, separated by commas. */
      readonly ids?: string | readonly string[] | undefined;
      /** Leaves out these entries. */
      readonly "not.ids"?: string | readonly string[] | undefined;
      /** Inclusive. */
      readonly since?: string | Date | undefined;
      /** Exclusive. */
      readonly until?: string | Date | undefined;
      /** desc: newest first. */
      readonly order?: "asc" | "desc" | undefined;
      /** Id of an entry. The page has it in the middle. */
      readonly around?: string | undefined;
    }, options?: RequestOptions): List<StreamEvent>;
  };
  readonly webhooks: {
    /** Create a webhook. `POST /webhooks` */
    create(body: CreateWebhookRequest, options?: RequestOptions): Promise<WebhookWithSecret>;
    /** List webhooks. `GET /webhooks` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): List<Webhook>;
    /** Get a webhook. `GET /webhooks/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Webhook>;
    /** Change, disable or enable a webhook. `PATCH /webhooks/{id}` */
    update(id: string, body: UpdateWebhookRequest, options?: RequestOptions): Promise<Webhook>;
    /** Delete a webhook. `DELETE /webhooks/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
    /** Send a test message. `POST /webhooks/{id}/test` */
    test(id: string, body?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<WebhookDelivery>;
    /** Rotate the secret of a webhook. `POST /webhooks/{id}/rotate` */
    rotate(id: string, body?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<WebhookWithSecret>;
    /** List deliveries of a webhook. `GET /webhooks/{id}/deliveries` */
    deliveries(id: string, query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly status?: "pending" | "delivered" | "dropped" | readonly ("pending" | "delivered" | "dropped")[] | undefined;
    }, options?: RequestOptions): List<WebhookDelivery>;
    /** Redeliver a message. `POST /webhooks/deliveries/{id}/redeliver` */
    redeliver(id: string, body?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<WebhookDelivery>;
    /** Get a delivery with its attempts. `GET /webhooks/deliveries/{id}` */
    delivery(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<WebhookDeliveryWithAttempts>;
    /** Redeliver failed deliveries of a time range. `POST /webhooks/{id}/recover` */
    recover(id: string, body: RecoverWebhookRequest, options?: RequestOptions): Promise<RecoveredWebhook>;
  };
  readonly costs: {
    /** Attribute a cost to an agent. `POST /costs` */
    record(body: RecordCostRequest, options?: RequestOptions): Promise<Cost>;
    /** Attribute a cost to an agent. `POST /costs` */
    create(body: RecordCostRequest, options?: RequestOptions): Promise<Cost>;
    /** List costs. `GET /costs` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      readonly since?: string | Date | undefined;
      readonly until?: string | Date | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): List<Cost>;
    /** Sum costs in total and per agent. `GET /costs/summary` */
    summary(query?: {
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      readonly since?: string | Date | undefined;
      readonly until?: string | Date | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): Promise<CostSummary>;
    /** Get costs over time. `GET /costs/series` */
    series(query?: {
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      readonly since?: string | Date | undefined;
      readonly until?: string | Date | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
      /** 1 to 200. */
      readonly buckets?: number | undefined;
    }, options?: RequestOptions): Promise<CostSeries>;
  };
  readonly budgets: {
    /** Limit an agent's usage per window. `POST /budgets` */
    create(body: CreateBudgetRequest, options?: RequestOptions): Promise<Budget>;
    /** List budgets. `GET /budgets` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): List<Budget>;
    /** Get a budget and its usage. `GET /budgets/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Budget>;
    /** Change a budget. `PATCH /budgets/{id}` */
    update(id: string, body: UpdateBudgetRequest, options?: RequestOptions): Promise<Budget>;
    /** Delete a budget. `DELETE /budgets/{id}` */
    delete(id: string, query?: {
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<void>;
  };
  readonly anomalies: {
    /** List anomalies. `GET /anomalies` */
    list(query?: {
      /** 1 to 1000. */
      readonly limit?: number | undefined;
      /** From the Link header of the page before. */
      readonly cursor?: string | undefined;
      /** May be repeated to match any of several values. */
      readonly agentId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly kind?: "denial_burst" | "rate_spike" | "new_namespace" | "unusual_hour" | "resource_probing" | readonly ("denial_burst" | "rate_spike" | "new_namespace" | "unusual_hour" | "resource_probing")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly severity?: "low" | "medium" | "high" | readonly ("low" | "medium" | "high")[] | undefined;
      /** May be repeated to match any of several values. */
      readonly status?: "open" | "acknowledged" | readonly ("open" | "acknowledged")[] | undefined;
      readonly since?: string | Date | undefined;
      readonly until?: string | Date | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): List<Anomaly>;
    /** Get an anomaly. `GET /anomalies/{id}` */
    get(id: string, query?: Record<string, never>, options?: RequestOptions): Promise<Anomaly>;
    /** Acknowledge an anomaly. `POST /anomalies/{id}/acknowledge` */
    acknowledge(id: string, body?: {
      readonly note?: string | undefined;
      /** Why, in your own words. Kept with the change, as `actor.reason` of its event. */
      readonly reason?: string | undefined;
    }, options?: RequestOptions): Promise<Anomaly>;
  };
  readonly dashboard: {
    /** Get statistics. `GET /dashboard/stats` */
    stats(query?: {
      readonly window?: "24h" | "7d" | "30d" | "all" | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): Promise<DashboardStats>;
    /** Get decisions over time. `GET /dashboard/series` */
    series(query?: {
      readonly window?: "24h" | "7d" | "30d" | "all" | undefined;
      /** Maximum number of buckets. */
      readonly buckets?: number | undefined;
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): Promise<DecisionSeries>;
    /** Get the items that wait for a person. `GET /dashboard/attention` */
    attention(query?: {
      /** May be repeated to match any of several values. */
      readonly ownerId?: string | readonly string[] | undefined;
      /** May be repeated to match any of several values. */
      readonly tenantId?: string | readonly string[] | undefined;
    }, options?: RequestOptions): Promise<Attention>;
  };
  readonly names: {
    /** Find the names of ids. `GET /names` */
    list(query: {
      /** Up to 300 ids, separated by commas. */
      readonly ids: string | readonly string[];
    }, options?: RequestOptions): Promise<readonly Named[]>;
  };
  readonly health: {
    /** Check that the process runs. `GET /health/live` */
    live(query?: Record<string, never>, options?: RequestOptions): Promise<Live>;
    /** Check that requests can be served. `GET /health/ready` */
    ready(query?: Record<string, never>, options?: RequestOptions): Promise<Ready>;
  };
  /** Get metrics in the Prometheus text format. `GET /metrics` */
  metrics(query?: Record<string, never>, options?: RequestOptions): Promise<Response>;
  /** Describe this installation. `GET /system` */
  system(query?: Record<string, never>, options?: RequestOptions): Promise<SystemDescription>;
  /** Get the OpenAPI 3.1 document. `GET /openapi.json` */
  openapi(query?: Record<string, never>, options?: RequestOptions): Promise<Record<string, unknown>>;
}
