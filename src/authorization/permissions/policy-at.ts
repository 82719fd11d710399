import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import type { AgentRow, Db, DelegationRow } from '../../storage/index.ts';
import { type CompiledAgent, compileAgent } from './compile.ts';
import { CHAIN_PAGE, MAX_CHAIN_AGENTS, MAX_CHAIN_ENTRIES } from './policy.ts';
import type { Permission } from './schema.ts';

/** The agents of a decision as they were at a sequence of the ledger. */
export interface PolicyAt {
  /** The agent and all agents above it in its chains. */
  readonly agents: ReadonlyMap<string, CompiledAgent>;
  /**
   * False if a version is missing, because the sequence is older than the versions; subjects without a version then
   * have their current state.
   */
  readonly isRecorded: boolean;
  /** False if there are more agents above than are read; chains through the others count as not held. */
  readonly complete: boolean;
  /** Ids of the agents and of all delegations to them, that is, everything that could change this policy. */
  readonly subjects: readonly string[];
}

/** The part of a version that decisions read. */
interface State {
  readonly status: 'active' | 'revoked';
  readonly permissions: readonly Permission[];
  readonly expiresAt: string | null;
  /** For an agent. */
  readonly ownerSuspended?: true;
  /** For a delegation. */
  readonly endsAt?: string | null;
}

/** `later`: its first version is newer. `none`: it has no version. */
type Found = State | 'later' | 'none';

/**
 * Reads the policy by which the decision with a sequence was made: the newest versions of smaller sequences. Returns
 * undefined if the agent does not exist. Reads as many agents as `readChains`, nearest first.
 */
export async function readPolicyAt(db: Db, agentId: Id<'agent'>, seq: number): Promise<PolicyAt | undefined> {
  const agents = new Map<string, CompiledAgent>();
  const subjects: string[] = [];
  let isRecorded = true;
  let entries = 0;
  const waiting = new Set([agentId]);
  while (waiting.size > 0 && agents.size < MAX_CHAIN_AGENTS && entries < MAX_CHAIN_ENTRIES) {
    const wave = [...waiting].slice(0, Math.min(CHAIN_PAGE, MAX_CHAIN_AGENTS - agents.size));
    for (const id of wave) waiting.delete(id);
    const rows = await readRows(db, wave);
    const states = await readStates(
      db,
      [...rows.agents, ...rows.delegations].map((row) => row.id),
      seq,
    );
    const inbound = new Map<string, DelegationRow[]>();
    for (const row of rows.delegations) {
      subjects.push(row.id);
      const state = states.get(row.id) ?? 'none';
      if (state === 'later') continue;
      if (state === 'none') isRecorded = false;
      const was = state === 'none' ? row : delegationAt(row, state);
      if (was.revoked_at === null) inbound.set(row.to_agent, [...(inbound.get(row.to_agent) ?? []), was]);
    }
    for (const row of rows.agents) {
      subjects.push(row.id);
      const state = states.get(row.id) ?? 'none';
      const isKnown = state !== 'later' && state !== 'none';
      if (!isKnown) isRecorded = false;
      const agent = compileAgent(isKnown ? agentAt(row, state) : row, inbound.get(row.id));
      agents.set(row.id, agent);
      entries += agent.entries.length;
    }
    for (const { from_agent } of [...inbound.values()].flat()) if (!agents.has(from_agent)) waiting.add(from_agent);
  }
  return agents.has(agentId) ? { agents, isRecorded, complete: waiting.size === 0, subjects } : undefined;
}

/** Returns the sequence of the first change of these subjects at or after a sequence; undefined if there is none. */
export async function nextChangeOf(db: Db, subjects: readonly string[], seq: number): Promise<number | undefined> {
  let first: number | undefined;
  for (const some of chunk(subjects)) {
    const row = await db
      .selectFrom('versions')
      .select((eb) => eb.fn.min('seq').as('seq'))
      .where('subject', 'in', some)
      .where('seq', '>=', seq)
      .executeTakeFirst();
    if (row && row.seq !== null) first = Math.min(first ?? Number.POSITIVE_INFINITY, Number(row.seq));
  }
  return first;
}

const msOf = (time: string | null | undefined): number | null => (time == null ? null : Date.parse(time));
const revokedAt = ({ status }: State): number | null => (status === 'revoked' ? 0 : null);

const agentAt = (row: AgentRow, state: State): AgentRow => ({
  ...row,
  permissions: JSON.stringify(state.permissions),
  expires_at: msOf(state.expiresAt),
  revoked_at: revokedAt(state),
  owner_suspended: state.ownerSuspended ? 1 : 0,
});

const delegationAt = (row: DelegationRow, state: State): DelegationRow => ({
  ...row,
  ends_at: msOf(state.endsAt),
  revoked_at: revokedAt(state),
});

async function readRows(
  db: Db,
  ids: readonly Id<'agent'>[],
): Promise<{ readonly agents: readonly AgentRow[]; readonly delegations: readonly DelegationRow[] }> {
  const agents: AgentRow[] = [];
  const delegations: DelegationRow[] = [];
  for (const some of chunk(ids)) {
    agents.push(...(await db.selectFrom('agents').selectAll().where('id', 'in', some).execute()));
    delegations.push(
      ...(await db.selectFrom('delegations').selectAll().where('to_agent', 'in', some).orderBy('id').execute()),
    );
  }
  return { agents, delegations };
}

async function readStates(db: Db, subjects: readonly string[], seq: number): Promise<Map<string, Found>> {
  const states = new Map<string, Found>();
  for (const some of chunk(subjects)) {
    const rows = await db
      .selectFrom('versions as v')
      .select(['v.subject', 'v.state'])
      .where('v.subject', 'in', some)
      .where('v.seq', '=', (eb) =>
        eb
          .selectFrom('versions as w')
          .select((w) => w.fn.max('w.seq').as('seq'))
          .whereRef('w.subject', '=', 'v.subject')
          .where('w.seq', '<', seq),
      )
      .execute();
    for (const { subject, state } of rows) states.set(subject, JSON.parse(state) as State);
    const missing = some.filter((id) => !states.has(id));
    if (missing.length === 0) continue;
    const later = await db
      .selectFrom('versions')
      .select('subject')
      .distinct()
      .where('subject', 'in', missing)
      .execute();
    for (const { subject } of later) states.set(subject, 'later');
  }
  return states;
}
