import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type AgentRow, prepared } from '../../storage/index.ts';
import { liveDelegations } from '../permissions/index.ts';
import { DelegationErrors } from './errors.ts';

const countReceived = prepared(
  (db, from: Id<'agent'>, owner: Id<'user'>, sameOwner: Id<'user'>, to: Id<'agent'>, now: number) =>
    db
      .selectFrom('delegations')
      .select(({ fn }) => [
        fn.countAll<number>().as('all'),
        fn.countAll<number>().filterWhere('from_agent', '=', from).as('pair'),
        fn.countAll<number>().filterWhere('from_owner', '!=', owner).as('others'),
        fn.sum<number | null>('permission_count').as('entries'),
        fn.sum<number | null>('permission_count').filterWhere('from_owner', '!=', sameOwner).as('othersEntries'),
      ])
      .where('to_agent', '=', to)
      .where(liveDelegations(now))
      .compile(),
);

const countGiven = prepared((db, from: Id<'agent'>, now: number) =>
  db
    .selectFrom('delegations')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('from_agent', '=', from)
    .where(liveDelegations(now))
    .compile(),
);

/**
 * Throws 422 DELEGATION_LIMIT_EXCEEDED if a delegation with this many permission entries would exceed a limit.
 * Decisions read and search received permissions, so other agents must not be able to slow down an agent, or to use up
 * the limit for its own owner: agents of other owners can use at most half. Exact, because changes are serialised.
 */
export async function assertRoomForDelegation(
  config: Platform['config']['delegations'],
  { database, db, now }: Pick<Change, 'database' | 'db' | 'now'>,
  from: AgentRow,
  to: AgentRow,
  entries: number,
): Promise<void> {
  const received = await countReceived(database, db, from.id, to.owner_id, to.owner_id, to.id, now);
  const given = await countGiven(database, db, from.id, now);
  if (!received || !given) throw new Error('A count has no row.');

  const { maxPerPair, maxGiven, maxReceived, maxReceivedPermissions } = config;
  within('delegations.maxPerPair', Number(received.pair) + 1, maxPerPair);
  within('delegations.maxGiven', Number(given.count) + 1, maxGiven);
  within('delegations.maxReceived', Number(received.all) + 1, maxReceived);
  within('delegations.maxReceivedPermissions', Number(received.entries) + entries, maxReceivedPermissions);
  if (from.owner_id === to.owner_id) return;
  within('delegations.maxReceived', Number(received.others) + 1, half(maxReceived), true);
  const othersEntries = Number(received.othersEntries) + entries;
  within('delegations.maxReceivedPermissions', othersEntries, half(maxReceivedPermissions), true);
}

const half = (limit: number): number => Math.ceil(limit / 2);

function within(option: string, wanted: number, limit: number, fromOtherOwners = false): void {
  if (wanted > limit)
    throw DelegationErrors.DELEGATION_LIMIT_EXCEEDED({
      details: { option, limit, ...(fromOtherOwners ? { fromOtherOwners } : {}) },
    });
}
