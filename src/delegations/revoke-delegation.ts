import type { Caller } from '../agents/index.ts';
import type { Change } from '../ledger/index.ts';
import { CommonErrors } from '../lib/error.ts';
import { isId } from '../lib/ids.ts';
import type { Platform } from '../platform.ts';
import type { Db, DelegationRow } from '../storage/index.ts';
import { DelegationErrors } from './errors.ts';

export type EndReason = 'revoked' | 'ancestor-revoked' | 'agent-revoked';

/** Values in one list of a statement. */
const CHUNK = 500;

/**
 * Ends a delegation at once, and with it all that descend from it; nothing else. Each emits `delegation.revoked`. Revoking
 * again does nothing. 404 DELEGATION_NOT_FOUND; 403 for whoever sees only its receiving end.
 */
export async function revokeDelegation(platform: Platform, caller: Caller, id: string): Promise<void> {
  await platform.ledger.change(async (change) => {
    const { db } = change;
    const reach = await caller.confirm(db);
    const row = isId('delegation', id) ? await db.selectFrom('delegations').selectAll().where('id', '=', id).executeTakeFirst() : undefined;
    const gives = row && (reach.kind === 'all' || (reach.kind === 'owner' ? row.from_owner === reach.userId : row.from_agent === reach.agentId));
    const receives = row && (reach.kind === 'owner' ? row.to_owner === reach.userId : reach.kind === 'agent' && row.to_agent === reach.agentId);
    if (!row || !(gives || receives)) throw DelegationErrors.DELEGATION_NOT_FOUND();
    if (!gives) throw CommonErrors.FORBIDDEN({ message: 'Only the delegating side may revoke a delegation.' });
    await endDelegations(change, [row.id], 'revoked');
  });
}

/** A revoked agent gives and receives nothing any more. */
export async function endDelegationsOfAgent(change: Change, agentId: string): Promise<void> {
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

/** Ends these, then what descends from them, generation by generation. */
export async function endDelegations(change: Change, ids: readonly string[], reason: EndReason): Promise<void> {
  let wave = [...ids];
  let why = reason;
  while (wave.length > 0) {
    const ended: DelegationRow[] = [];
    for (const chunk of chunks(wave)) {
      ended.push(
        ...(await change.db
          .updateTable('delegations')
          .set({ revoked_at: change.now, policy_epoch: change.epoch })
          .where('id', 'in', chunk)
          .where('revoked_at', 'is', null)
          .returningAll()
          .execute()),
      );
    }
    if (ended.length > 0) change.invalidate();
    for (const d of ended) {
      change.emit({
        type: 'delegation.revoked',
        agentId: d.from_agent,
        userId: d.from_owner,
        data: { delegationId: d.id, fromAgent: d.from_agent, toAgent: d.to_agent, reason: why },
      });
    }
    wave = await orphans(
      change.db,
      ended.map((d) => d.id),
      change.now,
    );
    why = 'ancestor-revoked';
  }
}

/** What stood on the ended ones and has nothing else to stand on: neither a permission of the source's own, nor another living parent. */
async function orphans(db: Db, ended: readonly string[], now: number): Promise<string[]> {
  const found = new Set<string>();
  for (const chunk of chunks(ended)) {
    const rows = await db
      .selectFrom('delegations as d')
      .innerJoin('delegation_parents as p', 'p.delegation_id', 'd.id')
      .select('d.id')
      .where('p.parent_id', 'in', chunk)
      .where('d.revoked_at', 'is', null)
      .where('d.self_supplied', '=', 0)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('delegation_parents as other')
              .innerJoin('delegations as parent', 'parent.id', 'other.parent_id')
              .select('other.parent_id')
              .whereRef('other.delegation_id', '=', 'd.id')
              .where('parent.revoked_at', 'is', null)
              .where((or) => or.or([or('parent.ends_at', 'is', null), or('parent.ends_at', '>', now)])),
          ),
        ),
      )
      .execute();
    for (const { id } of rows) found.add(id);
  }
  return [...found].sort();
}

function* chunks(ids: readonly string[]): Generator<string[]> {
  for (let at = 0; at < ids.length; at += CHUNK) yield ids.slice(at, at + CHUNK);
}
