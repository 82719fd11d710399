import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import { yieldOnce } from '../../kernel/yield-once.ts';
import { type Change, Deadline } from '../../ledger/index.ts';
import type { AgentLoss, Losses } from '../../platform/losses.ts';
import {
  type AgentRow,
  type ApprovalRow,
  type Database,
  type Db,
  type DelegationRow,
  selectMany,
} from '../../storage/index.ts';
import {
  effectivePermission,
  type Holder,
  Holders,
  Holdings,
  patternMatches,
  type Received,
} from '../permissions/index.ts';
import { lostPermissions } from './compare.ts';

type Link = Received & Pick<DelegationRow, 'revoked_at'>;
const LINK = ['id', 'from_agent', 'to_agent', 'permissions', 'ends_at', 'max_depth', 'revoked_at'] as const;
type Agent = Pick<
  AgentRow,
  'id' | 'name' | 'owner_id' | 'permissions' | 'revoked_at' | 'expires_at' | 'owner_suspended'
>;
const AGENT = ['id', 'name', 'owner_id', 'permissions', 'revoked_at', 'expires_at', 'owner_suspended'] as const;

type Rows = {
  readonly agents: Map<Id<'agent'>, Agent>;
  readonly delegations: Map<Id<'delegation'>, Link>;
};

/** Agents compared in one event-loop tick. */
const AT_ONCE = 50;
/** Decisions wait while the rows are read: 503 PREVIEW_TIMED_OUT after this time. */
const MAX_READ_MS = 500;

/**
 * Reads, in a change that has done its work and is still open, the policy of all agents that it may affect: before and
 * after the change.
 */
export async function findLosses(database: Database, change: Change): Promise<Losses> {
  const { now } = change;
  const changed: Rows = {
    agents: byId(await change.db.selectFrom('agents').select(AGENT).where('policy_epoch', '=', change.epoch).execute()),
    delegations: byId(
      await change.db.selectFrom('delegations').select(LINK).where('policy_epoch', '=', change.epoch).execute(),
    ),
  };
  const first = [...changed.agents.keys(), ...[...changed.delegations.values()].map((row) => row.to_agent)];
  // Other transactions see the database without this change.
  const db = database.lockedRead.withPlugin(new Deadline(MAX_READ_MS));
  const affected = await below(db, first);
  const before = await readAbove(database, db, affected);
  const approvals = await waitingApprovals(db, affected, now);
  const after: Rows = {
    agents: new Map([...before.agents, ...changed.agents]),
    delegations: new Map([...before.delegations, ...changed.delegations]),
  };
  return {
    compare: async () => {
      const holders = new Holders();
      const was = holdersOf(holders, before);
      const is = holdersOf(holders, after, { agents: was, changed });
      const holdings = [was, is].map((all) => new Holdings((id) => all.get(id) as Holder, now));
      const losses: AgentLoss[] = [];
      for (const ids of chunk([...affected], AT_ONCE)) {
        for (const id of ids) {
          const loss = lossOf(id, [was, is], holdings, before, approvals.get(id) ?? []);
          if (loss) losses.push(loss);
        }
        await yieldOnce();
      }
      return losses;
    },
  };
}

function lossOf(
  id: Id<'agent'>,
  [was, is]: readonly ReadonlyMap<Id<'agent'>, Holder>[],
  [held, holds]: readonly Holdings[],
  { agents }: Rows,
  waiting: readonly ApprovalRow[],
): AgentLoss | undefined {
  const [agent, before, after] = [agents.get(id), was?.get(id), is?.get(id)];
  if (!agent || !before || !after || !held || !holds) return undefined;
  const kept = holds.held(after);
  const lost = lostPermissions(held.held(before), kept).map(effectivePermission);
  const isEnded = before.revoked_at === null && after.revoked_at !== null;
  if (lost.length === 0 && !isEnded) return undefined;
  const approvals = waiting.filter(
    ({ action, resource }) =>
      isEnded ||
      lost.some((p) => (p.actions.includes(action) || p.actions.includes('*')) && patternMatches(p.resource, resource)),
  );
  return { agent, lost, left: kept.length, approvals: approvals.length };
}

/** Returns these agents, and all that have a permission through a chain from them. */
async function below(db: Db, ids: readonly Id<'agent'>[]): Promise<Set<Id<'agent'>>> {
  const found = new Set(ids);
  for (let wave = [...found]; wave.length > 0; ) {
    const next: Id<'agent'>[] = [];
    for (const some of chunk(wave)) {
      const receivers = db
        .selectFrom('delegations')
        .select('to_agent')
        .distinct()
        .where('from_agent', 'in', some)
        .where('revoked_at', 'is', null);
      for (const { to_agent } of await receivers.execute()) {
        if (found.has(to_agent)) continue;
        found.add(to_agent);
        next.push(to_agent);
      }
    }
    wave = next;
  }
  return found;
}

/**
 * Reads these agents and all from which they receive a permission through a chain, with the delegations that they
 * receive.
 */
async function readAbove(database: Database, db: Db, ids: Iterable<Id<'agent'>>): Promise<Rows> {
  const rows: Rows = { agents: new Map(), delegations: new Map() };
  const found = new Set(ids);
  for (let wave = [...found]; wave.length > 0; ) {
    const next: Id<'agent'>[] = [];
    for (const some of chunk(wave)) {
      const agents = db.selectFrom('agents').where('id', 'in', some);
      for (const row of await selectMany<Agent>(database, db, agents, AGENT)) rows.agents.set(row.id, row);
      const inbound = db.selectFrom('delegations').where('to_agent', 'in', some).where('revoked_at', 'is', null);
      for (const row of await selectMany<Link>(database, db, inbound, LINK)) {
        rows.delegations.set(row.id, row);
        if (found.has(row.from_agent)) continue;
        found.add(row.from_agent);
        next.push(row.from_agent);
      }
    }
    wave = next;
  }
  return rows;
}

async function waitingApprovals(
  db: Db,
  agentIds: ReadonlySet<Id<'agent'>>,
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

/** @param from holders created before; unchanged ones are reused */
function holdersOf(
  holders: Holders,
  { agents, delegations }: Rows,
  from?: { readonly agents: ReadonlyMap<Id<'agent'>, Holder>; readonly changed: Rows },
): Map<Id<'agent'>, Holder> {
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
  const made = new Map<Id<'agent'>, Holder>();
  for (const row of agents.values()) {
    const known = isChanged.has(row.id) ? undefined : from?.agents.get(row.id);
    made.set(row.id, known ?? holders.of(row, inbound.get(row.id)));
  }
  return made;
}

const byId = <Row extends { readonly id: string }>(rows: readonly Row[]): Map<Row['id'], Row> =>
  new Map(rows.map((row) => [row.id, row]));
