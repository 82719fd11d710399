import type { Visibility } from '../../access/principal.ts';
import { restrictTo, whereVisible } from '../../access/where-visible.ts';
import { isoTime } from '../../kernel/clock.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import { assertOrdered } from '../../kernel/query.ts';
import type { AnomalyRow, Db } from '../../storage/index.ts';
import type { Kind, Severity } from './detect.ts';
import { AnomalyErrors } from './errors.ts';
import type { Anomaly, AnomalyFilter } from './schema.ts';

/** Newest first. Throws 400 VALIDATION_FAILED for a range that ends before it begins. */
export async function findAnomalies(
  db: Db,
  visibility: Visibility,
  filter: AnomalyFilter,
  page: { after: Id<'anomaly'> | undefined; limit: number },
): Promise<AnomalyRow[]> {
  assertOrdered(filter);
  let query = db
    .selectFrom('anomalies')
    .selectAll()
    .where(whereVisible(await restrictTo(db, visibility, filter)));
  if (filter.agentId !== undefined) query = query.where('agent_id', 'in', filter.agentId);
  if (filter.kind !== undefined) query = query.where('kind', 'in', filter.kind);
  if (filter.severity !== undefined) query = query.where('severity', 'in', filter.severity);
  const { status } = filter;
  if (status !== undefined)
    query = query.where((eb) =>
      eb.or(status.map((one) => eb('acknowledged_at', one === 'open' ? 'is' : 'is not', null))),
    );
  if (filter.since !== undefined) query = query.where('detected_at', '>=', filter.since);
  if (filter.until !== undefined) query = query.where('detected_at', '<', filter.until);
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** Throws 404 ANOMALY_NOT_FOUND. */
export async function getAnomalyRow(db: Db, visibility: Visibility, id: Id<'anomaly'>): Promise<AnomalyRow> {
  const row = isId('anomaly', id)
    ? await db
        .selectFrom('anomalies')
        .selectAll()
        .where(whereVisible(visibility))
        .where('id', '=', id)
        .executeTakeFirst()
    : undefined;
  if (!row) throw AnomalyErrors.ANOMALY_NOT_FOUND();
  return row;
}

export const toAnomaly = (row: AnomalyRow): Anomaly => ({
  id: row.id,
  agentId: row.agent_id,
  kind: row.kind as Kind,
  severity: row.severity as Severity,
  observed: JSON.parse(row.observed) as number | string,
  expected: JSON.parse(row.expected) as number | string,
  evidence: JSON.parse(row.evidence) as string[],
  status: row.acknowledged_at === null ? 'open' : 'acknowledged',
  detectedAt: isoTime(row.detected_at),
  acknowledgedAt: row.acknowledged_at === null ? null : isoTime(row.acknowledged_at),
  acknowledgedBy: row.acknowledged_by,
  note: row.note,
});
