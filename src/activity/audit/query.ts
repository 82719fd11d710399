import { hash } from 'node:crypto';
import type { Visibility } from '../../access/principal.ts';
import { restrictTo } from '../../access/where-visible.ts';
import { explainRecorded, type RecordedTrace } from '../../authorization/permissions/index.ts';
import { validationFailed } from '../../kernel/errors.ts';
import { isId, timeOfId } from '../../kernel/ids.ts';
import type { EntryFilter } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, StreamEventRow } from '../../storage/index.ts';
import { toEntry } from './entry.ts';
import { AuditErrors } from './errors.ts';
import type { AuditEntry, AuditFilter } from './schema.ts';

/** The rows that a caller asks for, within what the caller may see. undefined: none can fit. */
export async function whereVisible(db: Db, caller: Visibility, filter: AuditFilter): Promise<EntryFilter | undefined> {
  const { agentId, userId, since, until, actions, result } = filter;
  const base: EntryFilter = { types: ['audit'], agentId, userId, sinceMs: since, untilMs: until, actions, result };
  const visibility = await restrictTo(db, caller, filter);
  switch (visibility.kind) {
    case 'all':
      return base;
    case 'tenant':
      return { ...base, tenantId: visibility.tenantId };
    case 'nothing':
      return undefined;
    case 'owner':
      return userId !== undefined && userId !== visibility.userId ? undefined : { ...base, userId: visibility.userId };
    case 'agent':
      return (agentId !== undefined && agentId !== visibility.agentId) ||
        (userId !== undefined && userId !== visibility.userId)
        ? undefined
        : { ...base, agentId: visibility.agentId };
  }
}

export interface AuditPage {
  readonly entries: AuditEntry[];
  readonly next: string | undefined;
}

/** Newest first; filters apply before the limit. Throws 400 for a cursor that is not of this query. */
export async function queryAudit(
  platform: Platform,
  visibility: Visibility,
  filter: AuditFilter,
  page: { limit: number; offset: number; cursor?: string | undefined },
): Promise<AuditPage> {
  const wanted = await whereVisible(platform.database.read, visibility, filter);
  const beforeSeq = page.cursor === undefined ? undefined : readCursor(page.cursor, filter);
  if (!wanted) return { entries: [], next: undefined };
  const rows = await platform.reader.page({ ...wanted, beforeSeq }, page.limit + 1, page.offset);
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    entries: shown.map(toEntry),
    next: rows.length > shown.length && last ? writeCursor(last.seq, filter) : undefined,
  };
}

/** 404 AUDIT_ENTRY_NOT_FOUND for what is not the caller's to see. */
export async function getAuditEntry(platform: Platform, visibility: Visibility, id: string): Promise<AuditEntry> {
  return toEntry(await findRow(platform, visibility, id));
}

/** A recorded decision and why it came out as it did. 404 AUDIT_ENTRY_NOT_FOUND. */
export async function explainAuditEntry(
  platform: Platform,
  visibility: Visibility,
  id: string,
): Promise<{ entry: AuditEntry } & RecordedTrace> {
  const row = await findRow(platform, visibility, id);
  const explained = await explainRecorded(platform, row);
  if (!explained) throw AuditErrors.AUDIT_ENTRY_NOT_FOUND({ reason: 'audit-agent-deleted' });
  return { entry: toEntry(row), ...explained };
}

async function findRow(platform: Platform, visibility: Visibility, id: string): Promise<StreamEventRow> {
  const row = isId('audit', id) ? await platform.reader.byId(id, timeOfId(id)) : undefined;
  const seen =
    row &&
    (visibility.kind === 'all' ||
      (visibility.kind === 'owner' ? row.user_id === visibility.userId : row.agent_id === visibility.agentId));
  if (!row || !seen) throw AuditErrors.AUDIT_ENTRY_NOT_FOUND();
  return row;
}

const fingerprint = (filter: AuditFilter): string =>
  hash(
    'sha256',
    JSON.stringify([
      filter.agentId,
      filter.userId,
      filter.since,
      filter.until,
      filter.actions,
      filter.result,
      filter.ownerId,
      filter.tenantId,
    ]),
    'base64url',
  ).slice(0, 8);

/** Place in the list and the filters it belongs to. */
const writeCursor = (seq: number, filter: AuditFilter): string =>
  Buffer.from(`${seq}.${fingerprint(filter)}`).toString('base64url');

function readCursor(cursor: string, filter: AuditFilter): number {
  const parsed = /^([1-9]\d{0,15})\.([\w-]{8})$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (!parsed) throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  if (parsed[2] !== fingerprint(filter))
    throw validationFailed([{ path: 'cursor', message: 'belongs to other filters' }]);
  return Number(parsed[1]);
}
