import { hash } from 'node:crypto';
import type { AgentRow } from '../storage/index.ts';
import { PatternIndex } from './pattern.ts';
import type { Permission } from './schema.ts';

/** One permission entry, ready to be decided by. */
export interface CompiledEntry {
  /** Place among the agent's entries: earlier ones are tried first. */
  readonly position: number;
  readonly permission: Permission;
  /** undefined: any action. */
  readonly actions: ReadonlySet<string> | undefined;
  /** Cap and the counter it is taken from. */
  readonly cap: { readonly limit: number; readonly counterKey: string } | undefined;
}

/**
 * One way in which an agent may do something: entries that must all hold. An own permission is a chain of one; a delegated
 * one has an entry for each link, and names the delegations.
 */
export interface Grant {
  readonly entries: readonly CompiledEntry[];
  readonly delegationIds: readonly string[];
}

/** An agent as decisions see it: built once per change, never modified. */
export interface CompiledAgent {
  readonly id: string;
  readonly ownerId: string;
  readonly tenantId: string | null;
  readonly tokenHash: string;
  /** Epoch of the change that made it what it is. */
  readonly epoch: number;
  readonly revoked: boolean;
  readonly expiresAt: number | null;
  readonly index: PatternIndex<Grant>;
  readonly permissions: readonly Permission[];
  /** Some entry has a cap: without one no counter is ever asked for. */
  readonly capped: boolean;
  /** Weight in the cache. */
  readonly size: number;
}

/**
 * Identity of a permission entry's counter: agent, resource, actions and the ordinal among entries equal in these. So the
 * count stays when a limit is changed or other entries come and go, and two entries never share one.
 */
function counterKey(agentId: string, permission: Permission, ordinals: Map<string, number>): string {
  const identity = `${permission.resource}\n${[...permission.actions].sort().join('\n')}`;
  const ordinal = ordinals.get(identity) ?? 0;
  ordinals.set(identity, ordinal + 1);
  return hash('sha256', `${agentId}\n${ordinal}\n${identity}`, 'base64url').slice(0, 22);
}

export function compileEntries(agentId: string, permissions: readonly Permission[]): CompiledEntry[] {
  const ordinals = new Map<string, number>();
  return permissions.map((permission, position) => {
    const limit = permission.constraints?.maxCallsPerHour;
    const key = counterKey(agentId, permission, ordinals);
    return {
      position,
      permission,
      actions: permission.actions.includes('*') ? undefined : new Set(permission.actions),
      cap: limit === undefined ? undefined : { limit, counterKey: key },
    };
  });
}

export function compileAgent(row: AgentRow): CompiledAgent {
  const permissions = JSON.parse(row.permissions) as Permission[];
  const entries = compileEntries(row.id, permissions);
  const index = new PatternIndex<Grant>();
  for (const entry of entries) index.add(entry.permission.resource, { entries: [entry], delegationIds: [] });
  return {
    id: row.id,
    ownerId: row.owner_id,
    tenantId: row.tenant_id,
    tokenHash: row.token_hash,
    epoch: row.policy_epoch,
    revoked: row.revoked_at !== null,
    expiresAt: row.expires_at,
    index,
    permissions,
    capped: entries.some((e) => e.cap !== undefined),
    size: permissions.length + 8,
  };
}

export type AgentStatus = 'active' | 'revoked' | 'expired';

/** Computed from the clock, never stored: from `expiresAt` on, the agent is expired. Only revocation is final. */
export function agentStatus(agent: { revoked: boolean; expiresAt: number | null }, now: number): AgentStatus {
  if (agent.revoked) return 'revoked';
  return agent.expiresAt !== null && now >= agent.expiresAt ? 'expired' : 'active';
}
