import type { Generated, Selectable } from 'kysely';
import type { Encrypted } from '../../kernel/encryption.ts';
import type { Id } from '../../kernel/ids.ts';
import type { SecretHash } from '../../kernel/secrets.ts';

/** Tables of agents, delegations, approvals and MCP servers. */
export interface AuthorizationTables {
  agents: AgentsTable;
  delegations: DelegationsTable;
  delegation_parents: DelegationParentsTable;
  approvals: ApprovalsTable;
  mcp_servers: McpServersTable;
  gateway_servers: GatewayServersTable;
  gateway_pins: GatewayPinsTable;
  gateway_connections: GatewayConnectionsTable;
  gateway_oauth_states: GatewayOAuthStatesTable;
  gateway_oauth_clients: GatewayOAuthClientsTable;
  gateway_revocations: GatewayRevocationsTable;
}

export interface AgentsTable {
  id: Id<'agent'>;
  owner_id: Id<'user'>;
  tenant_id: Id<'tenant'> | null;
  name: string;
  /** Words of the name, for searching and sorting (kernel/search-words.ts). */
  name_key: Generated<string>;
  type: 'autonomous' | 'delegated' | 'service';
  token_hash: SecretHash;
  revoked_at: number | null;
  expires_at: number | null;
  /** 1 while the owner is suspended. Follows `users.suspended_at`, so that a decision reads one row. */
  owner_suspended: Generated<number>;
  /** JSON array of Permission. */
  permissions: string;
  /** Number of permissions. */
  permission_count: Generated<number>;
  /** 1: a permission without constraints is for every resource or every action. */
  unbounded: Generated<number>;
  /** JSON object. */
  metadata: string;
  created_at: number;
  updated_at: number;
  /** Epoch of the last change. Instances reload rows with a newer epoch. */
  policy_epoch: number;
  /** Id of the grant, API token or agent that registered it; null: a person or the application. */
  created_by: Generated<string | null>;
  /** The agent ends with this grant: the grant of the access token, or of the agent, that registered it. */
  grant_id: Generated<Id<'grant'> | null>;
}
export type AgentRow = Selectable<AgentsTable>;

export interface DelegationsTable {
  id: Id<'delegation'>;
  from_agent: Id<'agent'>;
  to_agent: Id<'agent'>;
  /** Owners of both agents at creation. Determines who may see it. */
  from_owner: Id<'user'>;
  to_owner: Id<'user'>;
  /** JSON array of Permission. */
  permissions: string;
  /** Number of permissions. */
  permission_count: Generated<number>;
  depth: number;
  /** Maximum depth that any delegation of its chains allows. */
  max_depth: number;
  expires_at: number | null;
  /** Latest end, when all its ancestors have ended; never after expires_at. */
  ends_at: number | null;
  created_at: number;
  revoked_at: number | null;
  /** 1: the source held some of the permissions itself, so the delegation does not end with its parents. */
  self_supplied: number;
  /** Epoch of the last change. Instances reload rows with a newer epoch. */
  policy_epoch: number;
}
export type DelegationRow = Selectable<DelegationsTable>;

/** The parent delegations of a re-delegated permission, as of its creation. */
export interface DelegationParentsTable {
  delegation_id: Id<'delegation'>;
  parent_id: Id<'delegation'>;
}

/** A call that requires a person's approval. `digest` binds it to agent, action, resource and exact arguments. */
export interface ApprovalsTable {
  id: Id<'approval'>;
  /** SHA-256 of agent, action, resource and arguments. */
  digest: string;
  agent_id: Id<'agent'>;
  /** Owner of the agent, who may decide on it. */
  user_id: Id<'user'>;
  action: string;
  resource: string;
  /** JSON object, redacted, as the person sees it. */
  arguments: string;
  status: 'pending' | 'approved' | 'denied' | 'used' | 'expired';
  /** Audit entry of the decision that requested it. */
  audit_id: Id<'audit'>;
  created_at: number;
  /** From this time on it is not valid, regardless of its status. */
  expires_at: number;
  resolved_at: number | null;
  resolved_by: string | null;
  note: string | null;
}
export type ApprovalRow = Selectable<ApprovalsTable>;

/** Protected MCP servers: tokens can be requested for them, and calls of their tools are decided. */
export interface McpServersTable {
  id: Id<'mcpServer'>;
  /** Unique: the second segment of `mcp:<name>:<tool>`. */
  name: string;
  /** Resource identifier, byte for byte as registered. */
  endpoint: string;
  /** JSON array of names. */
  tools: string;
  auth_required: number;
  /** Maximum decisions per clock minute, or null. */
  rpm: number | null;
  created_at: number;
  updated_at: number;
}
export type McpServerRow = Selectable<McpServersTable>;

/** A server of `gateway.servers`. Its settings are in the configuration only. */
export interface GatewayServersTable {
  name: string;
  /** When its definitions were first listed and thereby approved. */
  baseline_at: number | null;
  /** When its connections were ended on request, on all instances. */
  restarted_at: number | null;
}

/** A tool of a server of `gateway.servers`. */
export interface GatewayPinsTable {
  server: string;
  tool: string;
  state: 'approved' | 'new' | 'changed' | 'blocked';
  /** null: no definition of it was ever approved. */
  approved_hash: string | null;
  /** JSON of the approved definition. */
  approved: string | null;
  seen_hash: string;
  /** JSON of the definition as the server listed it last. */
  seen: string;
  updated_at: number;
  /** Epoch of the last change. Instances reload rows with a newer epoch. */
  policy_epoch: number;
}
export type GatewayPinRow = Selectable<GatewayPinsTable>;

/** A person's credentials for a server of `gateway.servers`. */
export interface GatewayConnectionsTable {
  user_id: Id<'user'>;
  server: string;
  type: 'userSecret' | 'oauth';
  /** JSON, encrypted. */
  sealed: Encrypted;
  /** The key with which it is encrypted. */
  key_id: string;
  /** Changes with the credentials. Processes that run with the previous ones then end. */
  version: number;
  created_at: number;
  updated_at: number;
  /** Until this time one request renews the tokens, and the others wait. */
  refreshing_until: number | null;
}
export type GatewayConnectionRow = Selectable<GatewayConnectionsTable>;

/** Unfinished sign-ins at authorization servers of MCP servers behind the gateway. */
export interface GatewayOAuthStatesTable {
  state_hash: SecretHash;
  user_id: Id<'user'>;
  server: string;
  /** SHA-256 of a secret in a cookie of the browser. */
  browser_hash: SecretHash;
  /** JSON, encrypted. */
  sealed: Encrypted;
  expires_at: number;
}

/** This service as a client that registered with an authorization server. */
export interface GatewayOAuthClientsTable {
  issuer: string;
  redirect_uri: string;
  /** JSON, encrypted. */
  sealed: Encrypted;
  created_at: number;
}

/** Tokens of ended connections that still have to be revoked at their authorization servers. */
export interface GatewayRevocationsTable {
  /** The same as in the connection. */
  sealed: Encrypted;
  user_id: Id<'user'>;
  server: string;
  created_at: number;
}
