import type { Caller } from '../../access/caller.ts';
import type { Id } from '../../kernel/ids.ts';
import { changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Anomaly } from './schema.ts';
import { getAnomalyRow, toAnomaly } from './store.ts';

/** Records that a person has seen an anomaly. Only the first acknowledgement counts. Throws 404 ANOMALY_NOT_FOUND. */
export async function acknowledgeAnomaly(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Pick<Caller, 'reauthorize' | 'principal' | 'actor'>,
  id: Id<'anomaly'>,
  note: string | undefined,
): Promise<Anomaly> {
  return ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const row = await getAnomalyRow(db, await caller.reauthorize(db), id);
    if (row.acknowledged_at !== null) return toAnomaly(row);
    const seen = {
      acknowledged_at: now,
      acknowledged_by: caller.principal.kind === 'user' ? caller.principal.userId : null,
      note: note ?? null,
    };
    await db.updateTable('anomalies').set(seen).where('id', '=', id).execute();
    const anomaly = toAnomaly({ ...row, ...seen });
    change.emit({
      type: 'anomaly.acknowledged',
      agentId: row.agent_id,
      userId: row.user_id,
      data: { anomalyId: id, agentId: row.agent_id },
      ...changedFields(toAnomaly(row), anomaly),
    });
    return anomaly;
  });
}
