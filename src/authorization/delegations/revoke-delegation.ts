import type { Caller } from '../../access/caller.ts';
import type { Visibility } from '../../access/principal.ts';
import { chunk } from '../../kernel/chunk.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type DelegationRow, isOneOf, prepared } from '../../storage/index.ts';
import { liveDelegations } from '../permissions/index.ts';
import { DelegationErrors } from './errors.ts';
import { earliest, latest } from './store.ts';

export type EndReason = 'revoked' | 'ancestor-revoked' | 'agent-revoked' | 'tenant-changed' | 'address-proved';

const findDelegation = prepared((db, id: Id<'delegation'>) =>
  db.selectFrom('delegations').selectAll().where('id', '=', id).compile(),
);

/**
 * Ends a delegation and all that descend from it immediately. Both sides may do this, because an agent need not keep an
 * unwanted delegation. Emits `delegation.revoked` for each. Revoking again does nothing. 404 DELEGATION_NOT_FOUND.
 */
export async function revokeDelegation(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Caller,
  id: Id<'delegation'>,
): Promise<void> {
  await ledger.change(caller.actor, async (change) => {
    const { db } = change;
    const visibility = await caller.reauthorize(db);
    const row = isId('delegation', id) ? await findDelegation(change.database, db, id) : undefined;
    if (!row || !isParty(visibility, row)) throw DelegationErrors.DELEGATION_NOT_FOUND();
    await endDelegations(change, [row.id], 'revoked');
  });
}

function isParty(visibility: Visibility, row: DelegationRow): boolean {
  switch (visibility.kind) {
    case 'all':
      return true;
    case 'owner':
      return row.from_owner === visibility.userId || row.to_owner === visibility.userId;
    case 'agent':
      return row.from_agent === visibility.agentId || row.to_agent === visibility.agentId;
  }
}

/** Ends all delegations from and to an agent that was revoked. */
export async function endDelegationsOfAgent(change: Change, agentId: Id<'agent'>): Promise<void> {
  const rows = await change.db
    .selectFrom('delegations')
    .select('id')
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('from_agent', '=', agentId), eb('to_agent', '=', agentId)]))
    .orderBy('id')
    .execute();
  await endDelegations(
    change,
    rows.map((r) => r.id),
    'agent-revoked',
  );
}

/** Ends the delegations between agents of a user and agents of other owners, in both directions. */
export async function endDelegationsAcrossOwners(change: Change, userId: Id<'user'>, reason: EndReason): Promise<void> {
  const rows = await change.db
    .selectFrom('delegations')
    .select('id')
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('from_owner', '=', userId), eb('to_owner', '=', userId)]))
    .whereRef('from_owner', '<>', 'to_owner')
    .orderBy('id')
    .execute();
  await endDelegations(
    change,
    rows.map((r) => r.id),
    reason,
  );
}

/**
 * Ends these delegations, then their descendants, one generation at a time. Skips delegations that have already ended.
 */
export async function endDelegations(
  change: Change,
  ids: readonly Id<'delegation'>[],
  reason: EndReason,
): Promise<void> {
  let wave = [...ids];
  let shortened: Id<'delegation'>[] = [];
  let why = reason;
  while (wave.length + shortened.length > 0) {
    const ended: Pick<DelegationRow, 'id' | 'from_agent' | 'to_agent' | 'from_owner'>[] = [];
    for (const some of chunk(wave)) {
      ended.push(
        ...(await change.db
          .updateTable('delegations')
          .set({ revoked_at: change.now, policy_epoch: change.epoch })
          .where(isOneOf(change.database, 'id', some))
          .where(liveDelegations(change.now))
          .returning(['id', 'from_agent', 'to_agent', 'from_owner'])
          .execute()),
      );
    }
    if (ended.length + shortened.length > 0) change.invalidate();
    for (const d of ended) {
      change.emit({
        type: 'delegation.revoked',
        agentId: d.from_agent,
        userId: d.from_owner,
        data: { delegationId: d.id, fromAgent: d.from_agent, toAgent: d.to_agent, reason: why },
        before: { status: 'active' },
        after: { status: 'revoked' },
      });
    }
    const affected = await dependents(change, [...ended.map((d) => d.id), ...shortened]);
    wave = [];
    shortened = [];
    for (const { id, nowEnds, ends_at } of affected) {
      if (nowEnds === ends_at) continue;
      if (nowEnds !== null && nowEnds <= change.now) {
        wave.push(id);
        continue;
      }
      await change.db
        .updateTable('delegations')
        .set({ ends_at: nowEnds, policy_epoch: change.epoch })
        .where('id', '=', id)
        .execute();
      shortened.push(id);
    }
    why = 'ancestor-revoked';
  }
}

interface Dependent {
  readonly id: Id<'delegation'>;
  readonly ends_at: number | null;
  /** Returns when it ends, given its remaining parents; 0 if it has none. */
  readonly nowEnds: number | null;
}

/** Live delegations made from these, except those whose source held part of the permissions itself. */
async function dependents({ database, db, now }: Change, parents: readonly Id<'delegation'>[]): Promise<Dependent[]> {
  const found = new Map<string, Dependent>();
  for (const some of chunk(parents)) {
    const rows = await db
      .selectFrom('delegations as d')
      .innerJoin('delegation_parents as all', 'all.delegation_id', 'd.id')
      .innerJoin('delegations as parent', 'parent.id', 'all.parent_id')
      .select([
        'd.id',
        'd.expires_at',
        'd.ends_at',
        'parent.ends_at as parent_ends_at',
        'parent.revoked_at as parent_revoked_at',
      ])
      .where('d.id', 'in', (eb) =>
        eb
          .selectFrom('delegation_parents as p')
          .select('p.delegation_id')
          .where(isOneOf(database, 'p.parent_id', some)),
      )
      .where('d.self_supplied', '=', 0)
      .where(liveDelegations(now, 'd'))
      .execute();
    const last = new Map<string, number | null>();
    for (const { id, parent_ends_at, parent_revoked_at } of rows) {
      const before = last.get(id);
      last.set(id, latest(before === undefined ? 0 : before, parent_revoked_at === null ? parent_ends_at : 0));
    }
    for (const { id, expires_at, ends_at } of rows)
      found.set(id, { id, ends_at, nowEnds: earliest(expires_at, last.get(id) as number | null) });
  }
  return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}
