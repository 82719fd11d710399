import type { AgentLoss, Losses } from '../../http/preview/losses.ts';
import { chunk } from '../../kernel/chunk.ts';
import { type Change, Deadline } from '../../ledger/index.ts';
import type { AgentRow, ApprovalRow, Database, Db, DelegationRow } from '../../storage/index.ts';
import {
  type CompiledAgent,
  compileAgent,
  Holdings,
  patternMatches,
  type Received,
  SharedEntries,
} from '../permissions/index.ts';
import { lostPermissions } from './compare.ts';

type Link = Received & Pick<DelegationRow, 'revoked_at'>;
const LINK = ['id', 'from_agent', 'to_agent', 'permissions', 'ends_at', 'max_depth', 'revoked_at'] as const;

type Rows = {
  readonly agents: Map<string, AgentRow>;
  readonly delegations: Map<string, Link>;
};

/** Agents compared in one event-loop tick. */
const AT_ONCE = 50;
/** Decisions wait while the rows are read: 503 PREVIEW_TIMED_OUT after this time. */
const MAX_READ_MS = 500;

/**
 * Reads, in an open change that has done its work, the policy of all agents that it may affect: as it was, and as it
 * is.
 */
export async function findLosses(database: Database, change: Change): Promise<Losses> {
  const { now } = change;
  const changed: Rows = {
    agents: byId(await change.db.selectFrom('agents').selectAll().where('policy_epoch', '=', change.epoch).execute()),
    delegations: byId(
      await change.db.selectFrom('delegations').select(LINK).where('policy_epoch', '=', change.epoch).execute(),
    ),
  };
  const before: Rows = { agents: new Map(), delegations: new Map() };
  const first = [...changed.agents.keys(), ...[...changed.delegations.values()].map((row) => row.to_agent)];
  // Other transactions see the database as it is without this change.
  const db = database.lockedRead.withPlugin(new Deadline(MAX_READ_MS));
  const affected = await below(db, before, first);
  await above(db, before, affected);
  await readAgents(db, before, [...affected, ...[...before.delegations.values()].map((d) => d.from_agent)]);
  const approvals = await waitingApprovals(db, affected, now);
  const after: Rows = {
    agents: new Map([...before.agents, ...changed.agents]),
    delegations: new Map([...before.delegations, ...changed.delegations]),
  };
  return {
    compare: async () => {
      const was = compileAll(before);
      const is = compileAll(after, { agents: was, changed });
      const holdings = [was, is].map((all) => new Holdings((id) => all.get(id) as CompiledAgent, now));
      const losses: AgentLoss[] = [];
      for (const ids of chunk([...affected], AT_ONCE)) {
        for (const id of ids) {
          const loss = lossOf(id, [was, is], holdings, before, approvals.get(id) ?? []);
          if (loss) losses.push(loss);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      return losses;
    },
  };
}

function lossOf(
  id: string,
  [was, is]: readonly ReadonlyMap<string, CompiledAgent>[],
  [held, holds]: readonly Holdings[],
  { agents }: Rows,
  waiting: readonly ApprovalRow[],
): AgentLoss | undefined {
  const [agent, before, after] = [agents.get(id), was?.get(id), is?.get(id)];
  if (!agent || !before || !after || !held || !holds) return undefined;
  const kept = holds.of(after).permissions;
  const lost = lostPermissions(held.of(before).permissions, kept);
  const isEnded = before.revoked_at === null && after.revoked_at !== null;
  if (lost.length === 0 && !isEnded) return undefined;
  const approvals = waiting.filter(
    ({ action, resource }) =>
      isEnded ||
      lost.some((p) => (p.actions.includes(action) || p.actions.includes('*')) && patternMatches(p.resource, resource)),
  );
  return { agent, lost, left: kept.length, approvals: approvals.length };
}

/** Returns all agents that hold something by a chain from these, these included. */
const below = (db: Db, rows: Rows, ids: readonly string[]): Promise<Set<string>> =>
  follow(db, rows, ids, 'from_agent', 'to_agent');

/** Reads the delegations by which these agents hold something, up to their roots. */
const above = (db: Db, rows: Rows, ids: ReadonlySet<string>): Promise<Set<string>> =>
  follow(db, rows, ids, 'to_agent', 'from_agent');

/** Reads the delegations that lead from these agents to others, and returns all agents on the way. */
async function follow(
  db: Db,
  rows: Rows,
  ids: Iterable<string>,
  near: 'from_agent' | 'to_agent',
  far: 'from_agent' | 'to_agent',
): Promise<Set<string>> {
  const found = new Set(ids);
  for (let wave = [...found]; wave.length > 0; ) {
    const next: string[] = [];
    for (const some of chunk(wave))
      for (const row of await db
        .selectFrom('delegations')
        .select(LINK)
        .where(near, 'in', some)
        .where('revoked_at', 'is', null)
        .execute()) {
        rows.delegations.set(row.id, row);
        if (found.has(row[far])) continue;
        found.add(row[far]);
        next.push(row[far]);
      }
    wave = next;
  }
  return found;
}

async function readAgents(db: Db, rows: Rows, ids: readonly string[]): Promise<void> {
  for (const some of chunk([...new Set(ids)]))
    for (const row of await db.selectFrom('agents').selectAll().where('id', 'in', some).execute())
      rows.agents.set(row.id, row);
}

async function waitingApprovals(
  db: Db,
  agentIds: ReadonlySet<string>,
  now: number,
): Promise<Map<string, ApprovalRow[]>> {
  const found = new Map<string, ApprovalRow[]>();
  for (const some of chunk([...agentIds]))
    for (const row of await db
      .selectFrom('approvals')
      .selectAll()
      .where('agent_id', 'in', some)
      .where('status', '=', 'pending')
      .where('expires_at', '>', now)
      .execute())
      found.set(row.agent_id, [...(found.get(row.agent_id) ?? []), row]);
  return found;
}

/** @param from agents that are compiled already, of which those that did not change are taken over */
function compileAll(
  { agents, delegations }: Rows,
  from?: { readonly agents: ReadonlyMap<string, CompiledAgent>; readonly changed: Rows },
): Map<string, CompiledAgent> {
  const isChanged = new Set<string>();
  if (from) {
    for (const id of from.changed.agents.keys()) isChanged.add(id);
    for (const row of from.changed.delegations.values()) isChanged.add(row.to_agent);
  }
  const inbound = new Map<string, Link[]>();
  for (const row of delegations.values()) {
    if (row.revoked_at !== null || (from && !isChanged.has(row.to_agent))) continue;
    const list = inbound.get(row.to_agent);
    if (list) list.push(row);
    else inbound.set(row.to_agent, [row]);
  }
  for (const list of inbound.values()) list.sort((a, b) => (a.id < b.id ? -1 : 1));
  const compiled = new Map<string, CompiledAgent>();
  const shared = new SharedEntries();
  for (const row of agents.values()) {
    const known = isChanged.has(row.id) ? undefined : from?.agents.get(row.id);
    compiled.set(row.id, known ?? compileAgent(row, inbound.get(row.id), shared));
  }
  return compiled;
}

const byId = <Row extends { readonly id: string }>(rows: readonly Row[]): Map<string, Row> =>
  new Map(rows.map((row) => [row.id, row]));
