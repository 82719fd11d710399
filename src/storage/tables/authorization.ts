import type { Generated, Selectable } from 'kysely';

/** Tables of agents, delegations, approvals and MCP servers. */
export interface AuthorizationTables {
  agents: AgentsTable;
  delegations: DelegationsTable;
  delegation_parents: DelegationParentsTable;
  approvals: ApprovalsTable;
  mcp_servers: McpServersTable;
}

export interface AgentsTable {
  id: string;
  owner_id: string;
  tenant_id: string | null;
  name: string;
  /** Words of the name, for searching and sorting (kernel/search-words.ts). */
  name_key: Generated<string>;
  type: 'autonomous' | 'delegated' | 'service';
  token_hash: string;
  revoked_at: number | null;
  expires_at: number | null;
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
  /** The agent ends with this grant: that of the access token that registered it, or that of the agent that did. */
  grant_id: Generated<string | null>;
}
export type AgentRow = Selectable<AgentsTable>;

export interface DelegationsTable {
  id: string;
  from_agent: string;
  to_agent: string;
  /** Owners of both agents at creation. Determines who may see it. */
  from_owner: string;
  to_owner: string;
  /** JSON array of Permission. */
  permissions: string;
  /** Number of permissions. */
  permission_count: Generated<number>;
  depth: number;
  /** Maximum depth that any delegation of its chains allows. */
  max_depth: number;
  expires_at: number | null;
  /** When it ends at the latest because all its ancestors end; never after expires_at. */
  ends_at: number | null;
  created_at: number;
  revoked_at: number | null;
  /** 1: the source held some of the permissions itself, so the delegation outlives its parents. */
  self_supplied: number;
  /** Epoch of the last change. Instances reload rows with a newer epoch. */
  policy_epoch: number;
}
export type DelegationRow = Selectable<DelegationsTable>;

/** The delegations from which a re-delegated permission came when it was passed on. */
export interface DelegationParentsTable {
  delegation_id: string;
  parent_id: string;
}

/** A call that requires a person's approval. `digest` binds it to agent, action, resource and exact arguments. */
export interface ApprovalsTable {
  id: string;
  /** SHA-256 of agent, action, resource and arguments. */
  digest: string;
  agent_id: string;
  /** Owner of the agent, who may decide on it. */
  user_id: string;
  action: string;
  resource: string;
  /** JSON object, redacted, as the person sees it. */
  arguments: string;
  status: 'pending' | 'approved' | 'denied' | 'used' | 'expired';
  /** Audit entry of the decision that requested it. */
  audit_id: string;
  created_at: number;
  /** From then on it is not valid, whatever its status. */
  expires_at: number;
  resolved_at: number | null;
  resolved_by: string | null;
  note: string | null;
}
export type ApprovalRow = Selectable<ApprovalsTable>;

/** Protected MCP servers: tokens can be requested for them, and calls of their tools are decided. */
export interface McpServersTable {
  id: string;
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
