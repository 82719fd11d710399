import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { CommonErrors } from '../../kernel/errors.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import type { SecretHash } from '../../kernel/secrets.ts';
import type { AgentRow, DelegationRow } from '../../storage/index.ts';
import type { AgentState } from '../agents/agent-state.ts';
import { bytesOfConditions, type Conditions, compileConditions } from './conditions.ts';
import { PatternIndex } from './pattern.ts';
import type { Permission } from './schema.ts';

/** Memory of all shared entry sets together. */
const MAX_SHARED_BYTES = 48 * 1024 * 1024;

/** The delegation through which an entry was received. */
export interface Link {
  readonly delegationId: Id<'delegation'>;
  readonly fromAgent: Id<'agent'>;
  /** Its own expiry, or the end of the last delegation from which it was made. */
  readonly endsAt: number | null;
  /** Maximum depth that any delegation of the chain allows. */
  readonly maxDepth: number;
}

/** One permission entry, compiled for decisions. */
export interface CompiledEntry {
  /** Position among the agent's entries. Entries are tried in this order, own ones before received ones. */
  readonly position: number;
  readonly permission: Permission;
  /** undefined: any action. */
  readonly actions: ReadonlySet<string> | undefined;
  /** Limit on calls per hour, and the key of its counter. */
  readonly cap: { readonly limit: number; readonly counterKey: string } | undefined;
  /** Constraints other than the limit on calls. */
  readonly conditions: Conditions | undefined;
  /** Allows only calls that a person has approved. */
  readonly requiresApproval: boolean;
  /** undefined: the agent's own permission. A received entry holds only while its source holds it too. */
  readonly link: Link | undefined;
}

/** An agent in the form that decisions use. Built once per change and never modified. */
export interface CompiledAgent extends AgentState {
  readonly id: Id<'agent'>;
  readonly ownerId: Id<'user'>;
  readonly tenantId: Id<'tenant'> | null;
  readonly tokenHash: SecretHash;
  /** 1 while the owner is suspended. */
  readonly owner_suspended: number;
  readonly entries: readonly CompiledEntry[];
  readonly index: PatternIndex<CompiledEntry>;
  /** Agents that delegate to this one. */
  readonly sources: readonly Id<'agent'>[];
  /** Whether some entry has a limit on calls. If not, no counter is needed. */
  readonly capped: boolean;
  /** Whether some entry has a condition on the call's address or arguments. */
  readonly conditional: boolean;
  /** Epoch of the last change of the agent itself. */
  readonly epoch: number;
  /** Approximate memory. What it shares with other agents is counted in full. */
  readonly bytes: number;
}

/** Entries of a holder with the same text are told apart by their ordinal, and have counters of their own. */
export const counterIdentity = ({ resource, actions }: Pick<Permission, 'resource' | 'actions'>): string =>
  `${resource}\n${[...actions].sort().join('\n')}`;

/**
 * Compiles the entries of one holder. The key of a counter derives from holder (agent or delegation), resource,
 * actions, and the ordinal among entries with the same resource and actions. Therefore a count remains when the limit
 * or other entries change, and two entries never share a counter.
 */
function compileEntries(
  holderId: string,
  permissions: readonly Permission[],
  firstPosition: number,
  link: Link | undefined,
): CompiledEntry[] {
  const ordinals = new Map<string, number>();
  return permissions.map((permission, i) => {
    const { constraints } = permission;
    const limit = constraints?.maxCallsPerHour;
    const identity = counterIdentity(permission);
    const ordinal = ordinals.get(identity) ?? 0;
    ordinals.set(identity, ordinal + 1);
    return {
      position: firstPosition + i,
      permission,
      actions: permission.actions.includes('*') ? undefined : new Set(permission.actions),
      cap:
        limit === undefined
          ? undefined
          : { limit, counterKey: hash('sha256', `${holderId}\n${ordinal}\n${identity}`, 'base64url').slice(0, 22) },
      conditions: constraints && compileConditions(constraints),
      requiresApproval: constraints?.requireApproval === true,
      link,
    };
  });
}

/** Compiled entries with their index. */
interface EntrySet {
  readonly entries: readonly CompiledEntry[];
  readonly index: PatternIndex<CompiledEntry>;
  readonly capped: boolean;
  readonly conditional: boolean;
  readonly bytes: number;
}

/** Measured sizes: an entry with one short action, each further action, and an agent. */
const ENTRY_BYTES = 420;
const ACTION_BYTES = 55;
const AGENT_BYTES = 500;

function bytesOf({ permission, conditions }: CompiledEntry): number {
  let chars = permission.resource.length;
  for (const action of permission.actions) chars += action.length + ACTION_BYTES;
  if (permission.constraints) chars += JSON.stringify(permission.constraints).length;
  return ENTRY_BYTES + chars + (conditions ? bytesOfConditions(conditions) : 0);
}

function entrySet(entries: readonly CompiledEntry[]): EntrySet {
  const index = new PatternIndex<CompiledEntry>();
  for (const entry of entries) index.add(entry.permission.resource, entry);
  let bytes = index.bytes;
  for (const entry of entries) bytes += bytesOf(entry);
  return {
    entries,
    index,
    capped: entries.some((e) => e.cap !== undefined),
    conditional: entries.some((e) => e.conditions?.addresses !== undefined || e.conditions?.argPatterns !== undefined),
    bytes,
  };
}

/**
 * Compiled entry sets by the JSON of their permissions. Agents with the same permissions share them. Only sets without
 * limits on calls are shared, because a counter belongs to its holder.
 */
export class SharedEntries {
  readonly #byText = new LRUCache<string, EntrySet>({
    maxSize: MAX_SHARED_BYTES,
    sizeCalculation: (set, text) => set.bytes + text.length,
  });

  get(text: string): EntrySet | undefined {
    return this.#byText.get(text);
  }

  keep(text: string, set: EntrySet): void {
    if (!set.capped) this.#byText.set(text, set);
  }
}

function ownEntries(row: AgentRow, shared: SharedEntries | undefined): EntrySet {
  const known = shared?.get(row.permissions);
  if (known) return known;
  const set = entrySet(compileEntries(row.id, JSON.parse(row.permissions) as Permission[], 0, undefined));
  shared?.keep(row.permissions, set);
  return set;
}

/** The columns of a delegation that are compiled. */
export type Received = Pick<DelegationRow, 'id' | 'from_agent' | 'to_agent' | 'permissions' | 'ends_at' | 'max_depth'>;

export const linkOf = (d: Received): Link => ({
  delegationId: d.id,
  fromAgent: d.from_agent,
  endsAt: d.ends_at,
  maxDepth: d.max_depth,
});

function withReceived(own: EntrySet, inbound: readonly Received[]): EntrySet {
  if (inbound.length === 0) return own;
  const entries = [...own.entries];
  for (const d of inbound) {
    const received = JSON.parse(d.permissions) as Permission[];
    for (const entry of compileEntries(d.id, received, entries.length, linkOf(d))) entries.push(entry);
  }
  return entrySet(entries);
}

function entriesOf(row: AgentRow, inbound: readonly Received[], shared: SharedEntries | undefined): EntrySet {
  try {
    return withReceived(ownEntries(row, shared), inbound);
  } catch (error) {
    throw CommonErrors.INTERNAL_ERROR({
      message: 'The permissions of the agent cannot be read from the database. The log of the service names the agent.',
      cause: new Error(`The permissions of ${row.id}, or of a delegation to it, are damaged in the database.`, {
        cause: error,
      }),
    });
  }
}

/**
 * Throws 500 INTERNAL_ERROR if permissions were damaged in the database, which rejects the decisions that need this
 * agent and no others.
 *
 * @param inbound active delegations to the agent, in order of creation
 */
export function compileAgent(row: AgentRow, inbound: readonly Received[] = [], shared?: SharedEntries): CompiledAgent {
  const { entries, index, capped, conditional, bytes } = entriesOf(row, inbound, shared);
  return {
    id: row.id,
    ownerId: row.owner_id,
    tenantId: row.tenant_id,
    tokenHash: row.token_hash,
    revoked_at: row.revoked_at,
    expires_at: row.expires_at,
    owner_suspended: row.owner_suspended,
    entries,
    index,
    sources: [...new Set(inbound.map((d) => d.from_agent))],
    capped,
    conditional,
    epoch: row.policy_epoch,
    bytes: AGENT_BYTES + bytes,
  };
}

/**
 * Returns the agent with a draft in place of its own permissions. Received permissions do not change. Equal lists of
 * argument patterns are shared, so that results known for one hold for the other (`CallFacts.keepResults`).
 */
export function withDraft(agent: CompiledAgent, permissions: readonly Permission[]): CompiledAgent {
  const known = new Map<string, CompiledEntry['conditions']>();
  for (const { permission, conditions } of agent.entries)
    if (conditions?.argPatterns) known.set(JSON.stringify(permission.constraints?.allowedArgPatterns), conditions);
  const own = compileEntries(agent.id, permissions, 0, undefined).map((entry) => {
    const argPatterns = known.get(JSON.stringify(entry.permission.constraints?.allowedArgPatterns))?.argPatterns;
    return entry.conditions && argPatterns ? { ...entry, conditions: { ...entry.conditions, argPatterns } } : entry;
  });
  const received = agent.entries
    .filter((entry) => entry.link)
    .map((entry, i) => ({ ...entry, position: own.length + i }));
  const { bytes, ...set } = entrySet([...own, ...received]);
  return { ...agent, ...set, bytes: AGENT_BYTES + bytes };
}

/** Placeholder for an agent that has not been read yet. */
export const UNREAD: CompiledAgent = {
  ...entrySet([]),
  id: asId('agent', ''),
  ownerId: asId('user', ''),
  tenantId: null,
  tokenHash: '' as SecretHash,
  revoked_at: 0,
  expires_at: null,
  owner_suspended: 0,
  sources: [],
  epoch: 0,
};
