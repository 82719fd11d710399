import type { Visibility } from '../../access/principal.ts';
import { explainRecorded, type RecordedTrace } from '../../authorization/permissions/index.ts';
import { isId, timeOfId } from '../../kernel/ids.ts';
import type { EntryFilter } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, StreamEventRow } from '../../storage/index.ts';
import { toEntry } from './entry.ts';
import { AuditErrors } from './errors.ts';
import { filterOf } from './filters.ts';
import { checkPlace, readPage } from './pages.ts';
import type { AuditEntry, AuditFilter } from './schema.ts';

/** Returns the filter of a query, within what the caller may see. */
export function entryFilter(db: Db, caller: Visibility, { actions, ...query }: AuditFilter): Promise<EntryFilter> {
  return filterOf(db, caller, ['audit'], query).then((filter) =>
    actions ? { ...filter, where: [...filter.where, { field: 'action', values: actions }] } : filter,
  );
}

export interface AuditPage {
  readonly entries: AuditEntry[];
  readonly next: string | undefined;
  readonly prev: string | undefined;
}

/**
 * Returns a page of entries; filters apply before the limit. Throws 400 for a cursor of another query, and 404
 * AUDIT_ENTRY_NOT_FOUND if the caller may not see `around`.
 */
export async function queryAudit(
  platform: Pick<Platform, 'beforeLongPage' | 'database' | 'reader'>,
  visibility: Visibility,
  filter: AuditFilter,
  page: {
    limit: number;
    offset: number;
    order: 'asc' | 'desc';
    cursor?: string | undefined;
    around?: string | undefined;
  },
): Promise<AuditPage> {
  checkPlace(page);
  const wanted = await entryFilter(platform.database.read, visibility, filter);
  const around =
    page.around === undefined
      ? undefined
      : (await getAuditRow(platform, visibility, `aud_${page.around.slice(4)}`)).seq;
  const { rows, next, prev } = await readPage(platform, wanted, filter, { ...page, around });
  return { entries: rows.map(toEntry), next, prev };
}

/** Throws 404 AUDIT_ENTRY_NOT_FOUND for an entry that the caller may not see. */
export async function getAuditEntry(
  platform: Pick<Platform, 'reader'>,
  visibility: Visibility,
  id: string,
): Promise<AuditEntry> {
  return toEntry(await getAuditRow(platform, visibility, id));
}

/** Explains a recorded decision. Throws 404 AUDIT_ENTRY_NOT_FOUND. */
export async function explainAuditEntry(
  platform: Pick<Platform, 'database' | 'reader'>,
  visibility: Visibility,
  id: string,
): Promise<{ entry: AuditEntry } & RecordedTrace> {
  const row = await getAuditRow(platform, visibility, id);
  const explained = await explainRecorded(platform, row);
  if (!explained) throw AuditErrors.AUDIT_ENTRY_NOT_FOUND({ reason: 'audit-agent-deleted' });
  return { entry: toEntry(row), ...explained };
}

/** Returns the row of an entry. Throws 404 AUDIT_ENTRY_NOT_FOUND for one that the caller may not see. */
export async function getAuditRow(
  { reader }: Pick<Platform, 'reader'>,
  visibility: Visibility,
  id: string,
): Promise<StreamEventRow> {
  const row = isId('audit', id) ? await reader.byId(id, timeOfId(id)) : undefined;
  const seen =
    row &&
    (visibility.kind === 'all' ||
      (visibility.kind === 'owner' ? row.user_id === visibility.userId : row.agent_id === visibility.agentId));
  if (!row || !seen) throw AuditErrors.AUDIT_ENTRY_NOT_FOUND();
  return row;
}
