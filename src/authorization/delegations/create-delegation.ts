import { sql } from 'kysely';
import type { Caller } from '../../access/caller.ts';
import { actingAgent, type Visibility } from '../../access/principal.ts';
import { isoTime } from '../../kernel/clock.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { type Id, isId, newId } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type AgentRow, type Db, type DelegationRow, prepared, preparedInsert } from '../../storage/index.ts';
import { AgentErrors, agentStatus, assertMayGrant, assertNotItself, selectAgents } from '../agents/index.ts';
import {
  assertPolicyWeight,
  type DelegationSources,
  evaluateWithAgents,
  findDelegationSources,
  liveDelegations,
  MAX_SOURCE_STEPS,
} from '../permissions/index.ts';
import { DelegationErrors } from './errors.ts';
import { assertRoomForDelegation } from './limits.ts';
import { type CreateDelegation, DEFAULT_MAX_DEPTH, type Delegation } from './schema.ts';
import { earliest, latest, toDelegation } from './store.ts';

/**
 * Delegates a subset of one agent's permissions to another (specification 3.2, contract 7). Emits `delegation.created`.
 * 404 AGENT_NOT_FOUND; 403 INSUFFICIENT_PERMISSIONS, or FORBIDDEN to a narrowed credential for the agent it acts as and
 * to an agent of a suspended owner; 422 for a broken rule: self, cycle, depth, tenant, expiry, inactive agents, limits.
 */
export const createDelegation = (
  platform: Pick<Platform, 'config' | 'ledger' | 'stateOf'>,
  caller: Caller,
  input: CreateDelegation,
): Promise<Delegation> =>
  platform.ledger.change(caller.actor, (change) => createDelegationIn(platform, change, caller, input));

/** Does the same inside a change. */
export async function createDelegationIn(
  platform: Pick<Platform, 'config' | 'stateOf'>,
  change: Change,
  caller: Pick<Caller, 'principal' | 'reauthorize'>,
  input: CreateDelegation,
): Promise<Delegation> {
  const { database, db, now } = change;
  const visibility = await caller.reauthorize(db);
  const agents = await readAgents(change, [input.fromAgent, input.toAgent]);
  const from = sourceOf(visibility, agents.get(input.fromAgent));
  // Such a delegation would begin to give permissions when the owner is reinstated.
  if (visibility.kind === 'agent' && from.owner_suspended !== 0)
    throw CommonErrors.FORBIDDEN({ message: 'The owner of the agent is suspended.', reason: 'owner-suspended' });
  if (input.fromAgent === input.toAgent) throw DelegationErrors.DELEGATION_TO_SELF();
  const to = targetOf(visibility, from, agents.get(input.toAgent));
  if (actingAgent(caller.principal) !== from.id) {
    assertNotItself(caller.principal, to.id);
    await assertMayGrant(platform, db, caller.principal, input.permissions);
  }
  for (const agent of [from, to]) {
    const status = agentStatus(agent, now);
    if (status !== 'active') throw DelegationErrors.AGENT_NOT_ACTIVE({ details: { agentId: agent.id, status } });
  }
  const expiresAt = input.expiresAt ?? null;
  if (expiresAt !== null && expiresAt <= now) throw AgentErrors.EXPIRES_AT_IN_PAST({ details: { path: 'expiresAt' } });
  assertPolicyWeight(input.permissions);
  if (await findAncestor(database, db, from.id, now, now, to.id)) throw DelegationErrors.DELEGATION_CYCLE();
  await assertRoomForDelegation(platform.config.delegations, change, from, to, input.permissions.length);

  const maxDepth = input.maxDepth ?? DEFAULT_MAX_DEPTH;
  const supplies = await suppliesOf(db, from, input, maxDepth, now);
  const parents = [...new Set(supplies.flatMap((s) => s.parents))];
  const selfSupplied = supplies.some((s) => s.own);
  const row: DelegationRow = {
    id: newId('delegation', now),
    from_agent: from.id,
    to_agent: to.id,
    from_owner: from.owner_id,
    to_owner: to.owner_id,
    permissions: JSON.stringify(input.permissions),
    permission_count: input.permissions.length,
    depth: 1 + Math.max(...supplies.map((s) => s.length)),
    max_depth: maxDepth,
    expires_at: expiresAt,
    ends_at: selfSupplied ? expiresAt : earliest(expiresAt, await lastEnd(db, parents)),
    created_at: now,
    revoked_at: null,
    self_supplied: selfSupplied ? 1 : 0,
    policy_epoch: change.epoch,
  };
  change.invalidate();
  await insertDelegation(database, db, row);
  if (parents.length > 0)
    await db
      .insertInto('delegation_parents')
      .values(parents.map((parent_id) => ({ delegation_id: row.id, parent_id })))
      .execute();
  const made = {
    fromAgent: from.id,
    toAgent: to.id,
    permissions: input.permissions,
    depth: row.depth,
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
  };
  change.emit({
    type: 'delegation.created',
    agentId: from.id,
    userId: from.owner_id,
    data: { delegationId: row.id, ...made },
    after: { ...made, maxDepth },
  });
  return toDelegation(row);
}

const insertDelegation = preparedInsert('delegations');

async function readAgents({ database, db }: Change, ids: readonly string[]): Promise<Map<string, AgentRow>> {
  const wanted = ids.filter((id) => isId('agent', id));
  const rows = wanted.length === 0 ? [] : await selectAgents(database, db, wanted);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Only its owner, an admin and the agent itself may delegate from an agent. Throws 404 AGENT_NOT_FOUND. */
function sourceOf(visibility: Visibility, from: AgentRow | undefined): AgentRow {
  const may =
    from &&
    (visibility.kind === 'all' ||
      (visibility.kind === 'owner' ? from.owner_id === visibility.userId : from.id === visibility.agentId));
  if (!may)
    throw AgentErrors.AGENT_NOT_FOUND({ message: 'Agent not found: fromAgent.', details: { path: 'fromAgent' } });
  return from;
}

/**
 * The target must have the same owner or tenant. Throws 404 AGENT_NOT_FOUND otherwise, and 422 for callers who see all
 * agents.
 */
function targetOf(visibility: Visibility, from: AgentRow, to: AgentRow | undefined): AgentRow {
  const near = to && (to.owner_id === from.owner_id || (to.tenant_id !== null && to.tenant_id === from.tenant_id));
  if (to && near) return to;
  if (to && visibility.kind === 'all') throw DelegationErrors.DELEGATION_OUTSIDE_TENANT();
  throw AgentErrors.AGENT_NOT_FOUND({ message: 'Agent not found: toAgent.', details: { path: 'toAgent' } });
}

/** Finds out whether `ancestor` delegates to `agent`, directly or through others. Both times are the present. */
const findAncestor = prepared((db, agent: Id<'agent'>, now: number, nowAgain: number, ancestor: Id<'agent'>) =>
  db
    .withRecursive('up(id)', (cte) =>
      cte
        .selectFrom('delegations')
        .select('from_agent as id')
        .where('to_agent', '=', agent)
        .where(liveDelegations(now))
        .union(
          cte
            .selectFrom('delegations as d')
            .innerJoin('up', 'up.id', 'd.to_agent')
            .select('d.from_agent as id')
            .where(liveDelegations(nowAgain, 'd')),
        ),
    )
    .selectFrom('up')
    .select(sql<number>`1`.as('found'))
    .where('id', '=', ancestor)
    .compile(),
);

/** Finds the source of each permission. Throws 403 INSUFFICIENT_PERMISSIONS or 422 DELEGATION_DEPTH_EXCEEDED. */
function suppliesOf(
  db: Db,
  from: AgentRow,
  input: CreateDelegation,
  maxDepth: number,
  now: number,
): Promise<DelegationSources[]> {
  return evaluateWithAgents(db, [from], (lookup) => {
    const steps = { left: MAX_SOURCE_STEPS };
    return input.permissions.map((permission, i) => {
      const supply = findDelegationSources(lookup(input.fromAgent), permission, now, maxDepth, lookup, steps);
      if (!supply)
        throw AgentErrors.INSUFFICIENT_PERMISSIONS({
          details: { path: `permissions.${i}`, resource: permission.resource, actions: permission.actions },
        });
      if (supply.tooDeep) throw DelegationErrors.DELEGATION_DEPTH_EXCEEDED({ details: { path: `permissions.${i}` } });
      return supply;
    });
  });
}

/** Returns when the last of these delegations ends; null if one of them has no end. */
async function lastEnd(db: Db, ids: readonly Id<'delegation'>[]): Promise<number | null> {
  const rows = await db.selectFrom('delegations').select('ends_at').where('id', 'in', ids).execute();
  return rows.reduce<number | null>((last, row) => latest(last, row.ends_at), 0);
}
