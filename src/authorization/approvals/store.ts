import { type ExpressionBuilder, sql } from 'kysely';
import type { Visibility } from '../../access/principal.ts';
import { restrictTo, whereVisible } from '../../access/where-visible.ts';
import { cutSizedPage } from '../../http/page.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { ApprovalRow, Db, Tables } from '../../storage/index.ts';
import { ApprovalErrors } from './errors.ts';
import type { Approval, ApprovalFilter, ApprovalStatus } from './schema.ts';

/** Expired by the clock, whether or not upkeep has recorded it. */
const statusOf = (row: ApprovalRow, now: number): ApprovalStatus =>
  (row.status === 'pending' || row.status === 'approved') && now >= row.expires_at ? 'expired' : row.status;

/** Pending, or approved and unused, and past its time. */
export const isPastExpiry = (eb: ExpressionBuilder<Tables, 'approvals'>, now: number) =>
  eb.and([eb('status', 'in', ['pending', 'approved']), eb('expires_at', '<=', now)]);

/** The same rule as {@link statusOf} in SQL. */
function isOfStatus(eb: ExpressionBuilder<Tables, 'approvals'>, status: ApprovalStatus, now: number) {
  switch (status) {
    case 'expired':
      return eb.or([eb('status', '=', status), isPastExpiry(eb, now)]);
    case 'pending':
    case 'approved':
      return eb.and([eb('status', '=', status), eb('expires_at', '>', now)]);
    case 'denied':
    case 'used':
      return eb('status', '=', status);
  }
}

interface PageOf {
  readonly after: Id<'approval'> | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function findApprovals(
  db: Db,
  visibility: Visibility,
  filter: ApprovalFilter,
  page: PageOf,
  now: number,
): Promise<ApprovalRow[]> {
  return (await matching(db, visibility, filter, page, now)).selectAll().limit(page.limit).execute();
}

/** A page, newest first, and the cursor of the next one. It ends early if it is many megabytes large. */
export async function findApprovalPage(
  { beforeLongPage, database }: Pick<Platform, 'beforeLongPage' | 'database'>,
  visibility: Visibility,
  filter: ApprovalFilter,
  page: PageOf,
  now: number,
): Promise<{ rows: ApprovalRow[]; next: string | undefined }> {
  const query = await matching(database.read, visibility, filter, page, now);
  const sizes = query.select(['id', sql<number>`octet_length(arguments)`.as('bytes')]).limit(page.limit + 1);
  const { rows: shown, next, bytes } = cutSizedPage(await sizes.execute(), page.limit);
  await beforeLongPage(bytes);
  const rows: ApprovalRow[] = [];
  for (const ids of chunk(shown.map(({ id }) => id)))
    rows.push(...(await query.selectAll().where('id', 'in', ids).execute()));
  return { rows, next };
}

async function matching(db: Db, visibility: Visibility, filter: ApprovalFilter, page: PageOf, now: number) {
  let query = db.selectFrom('approvals').where(whereVisible(await restrictTo(db, visibility, filter)));
  if (filter.agentId !== undefined) query = query.where('agent_id', 'in', filter.agentId);
  const { status } = filter;
  if (status !== undefined) query = query.where((eb) => eb.or(status.map((one) => isOfStatus(eb, one, now))));
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc');
}

/** Throws 404 APPROVAL_NOT_FOUND. */
export async function getApproval(db: Db, visibility: Visibility, id: Id<'approval'>): Promise<ApprovalRow> {
  const row = isId('approval', id)
    ? await db
        .selectFrom('approvals')
        .selectAll()
        .where(whereVisible(visibility))
        .where('id', '=', id)
        .executeTakeFirst()
    : undefined;
  if (!row) throw ApprovalErrors.APPROVAL_NOT_FOUND();
  return row;
}

export const toApproval = (row: ApprovalRow, now: number): Approval => ({
  id: row.id,
  agentId: row.agent_id,
  action: row.action,
  resource: row.resource,
  arguments: JSON.parse(row.arguments) as Record<string, unknown>,
  status: statusOf(row, now),
  auditId: row.audit_id,
  createdAt: isoTime(row.created_at),
  expiresAt: isoTime(row.expires_at),
  resolvedAt: row.resolved_at === null ? null : isoTime(row.resolved_at),
  resolvedBy: row.resolved_by,
  note: row.note,
});
