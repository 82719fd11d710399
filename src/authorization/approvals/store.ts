import { type ExpressionBuilder, sql } from 'kysely';
import type { Visibility } from '../../access/principal.ts';
import { restrictTo, whereVisible } from '../../access/where-visible.ts';
import { afterCursor, cutSizedPage, notOfThisList, textOfCursor } from '../../http/page.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { ApprovalRow, Db, Tables } from '../../storage/index.ts';
import { ApprovalErrors } from './errors.ts';
import type { Approval, ApprovalFilter, ApprovalSort, ApprovalStatus } from './schema.ts';

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
  readonly sort: ApprovalSort;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function findApprovals(
  db: Db,
  visibility: Visibility,
  filter: ApprovalFilter,
  limit: number,
  now: number,
): Promise<ApprovalRow[]> {
  const newest = (await matching(db, visibility, filter, now)).orderBy('id', 'desc');
  return newest.selectAll().limit(limit).execute();
}

/**
 * A page and the cursor of the next one. It ends early if it is many megabytes large. Throws 400 VALIDATION_FAILED for
 * the cursor of another list or order.
 */
export async function findApprovalPage(
  { beforeLongPage, database }: Pick<Platform, 'beforeLongPage' | 'database'>,
  visibility: Visibility,
  filter: ApprovalFilter,
  page: PageOf,
  now: number,
): Promise<{ rows: ApprovalRow[]; next: string | undefined }> {
  const byExpiry = page.sort === 'expiresAt';
  const all = await matching(database.read, visibility, filter, now);
  const query = byExpiry ? bySoonestExpiry(all, page.cursor) : byNewest(all, page.cursor);
  const sizes = query.select(['id', 'expires_at', sql<number>`octet_length(arguments)`.as('bytes')]);
  const { rows: shown, next, bytes } = cutSizedPage(await sizes.limit(page.limit + 1).execute(), page.limit);
  await beforeLongPage(bytes);
  const rows: ApprovalRow[] = [];
  for (const ids of chunk(shown.map(({ id }) => id)))
    rows.push(...(await query.selectAll().where('id', 'in', ids).execute()));
  const last = shown.at(-1);
  return { rows, next: byExpiry && next !== undefined && last ? cursorOf(last) : next };
}

type Matching = Awaited<ReturnType<typeof matching>>;

function byNewest(query: Matching, cursor: string | undefined): Matching {
  const after = afterCursor('approval', cursor);
  return (after === undefined ? query : query.where('id', '<', after)).orderBy('id', 'desc');
}

function bySoonestExpiry(query: Matching, cursor: string | undefined): Matching {
  const after = positionOf(cursor);
  const rest = after
    ? query.where((eb) =>
        eb.or([
          eb('expires_at', '>', after.expiresAt),
          eb.and([eb('expires_at', '=', after.expiresAt), eb('id', '>', after.id)]),
        ]),
      )
    : query;
  return rest.orderBy('expires_at').orderBy('id');
}

/** The last approval of a page by expiry, in the form of a cursor. */
const cursorOf = ({ expires_at, id }: Pick<ApprovalRow, 'expires_at' | 'id'>): string =>
  Buffer.from(`expiresAt ${expires_at} ${id}`).toString('base64url');

function positionOf(cursor: string | undefined): { expiresAt: number; id: Id<'approval'> } | undefined {
  const text = textOfCursor(cursor);
  if (text === undefined) return undefined;
  const [sort, time, id = '', ...rest] = text.split(' ');
  const expiresAt = Number(time);
  if (sort !== 'expiresAt' || !Number.isSafeInteger(expiresAt) || !isId('approval', id) || rest.length > 0)
    throw notOfThisList();
  return { expiresAt, id };
}

async function matching(db: Db, visibility: Visibility, filter: ApprovalFilter, now: number) {
  let query = db.selectFrom('approvals').where(whereVisible(await restrictTo(db, visibility, filter)));
  if (filter.agentId !== undefined) query = query.where('agent_id', 'in', filter.agentId);
  const { status } = filter;
  if (status !== undefined) query = query.where((eb) => eb.or(status.map((one) => isOfStatus(eb, one, now))));
  return query;
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
