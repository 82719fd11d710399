import { hash } from 'node:crypto';
import type { EntryFilter } from '../ledger/index.ts';
import type { Reach } from '../lib/access.ts';
import { validationFailed } from '../lib/error.ts';
import { isId, timeOfId } from '../lib/ids.ts';
import { explainRecorded, type RecordedTrace } from '../permissions/index.ts';
import type { Platform } from '../platform.ts';
import { type Db, narrowed, type StreamEventRow } from '../storage/index.ts';
import { toEntry } from './entry.ts';
import { AuditErrors } from './errors.ts';
import type { AuditEntry, AuditFilter } from './schema.ts';

/** The rows that a caller asks for, within what the caller may see. undefined: none can fit. */
export async function within(db: Db, caller: Reach, filter: AuditFilter): Promise<EntryFilter | undefined> {
  const { agentId, userId, since, until, actions, result } = filter;
  const base: EntryFilter = { types: ['audit'], agentId, userId, sinceMs: since, untilMs: until, actions, result };
  const reach = await narrowed(db, caller, filter);
  switch (reach.kind) {
    case 'all':
      return base;
    case 'tenant':
      return { ...base, tenantId: reach.tenantId };
    case 'nothing':
      return undefined;
    case 'owner':
      return userId !== undefined && userId !== reach.userId ? undefined : { ...base, userId: reach.userId };
    case 'agent':
      return (agentId !== undefined && agentId !== reach.agentId) || (userId !== undefined && userId !== reach.userId) ? undefined : { ...base, agentId: reach.agentId };
  }
}

export interface AuditPage {
  readonly entries: AuditEntry[];
  readonly next: string | undefined;
}

/** Newest first; filters apply before the limit. Throws 400 for a cursor that is not of this query. */
export async function queryAudit(platform: Platform, reach: Reach, filter: AuditFilter, page: { limit: number; offset: number; cursor?: string | undefined }): Promise<AuditPage> {
  const wanted = await within(platform.database.read, reach, filter);
  const beforeSeq = page.cursor === undefined ? undefined : readCursor(page.cursor, filter);
  if (!wanted) return { entries: [], next: undefined };
  const rows = await platform.reader.page({ ...wanted, beforeSeq }, page.limit + 1, page.offset);
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  return { entries: shown.map(toEntry), next: rows.length > shown.length && last ? writeCursor(last.seq, filter) : undefined };
}

/** 404 AUDIT_ENTRY_NOT_FOUND for what is not the caller's to see. */
export async function getAuditEntry(platform: Platform, reach: Reach, id: string): Promise<AuditEntry> {
  return toEntry(await findRow(platform, reach, id));
}

/** A recorded decision and why it came out as it did. 404 AUDIT_ENTRY_NOT_FOUND. */
export async function explainAuditEntry(platform: Platform, reach: Reach, id: string): Promise<{ entry: AuditEntry } & RecordedTrace> {
  const row = await findRow(platform, reach, id);
  const explained = await explainRecorded(platform, row);
  if (!explained) throw AuditErrors.AUDIT_ENTRY_NOT_FOUND({ internal: 'the agent is gone' });
  return { entry: toEntry(row), ...explained };
}

async function findRow(platform: Platform, reach: Reach, id: string): Promise<StreamEventRow> {
  const row = isId('audit', id) ? await platform.reader.byId(id, timeOfId(id)) : undefined;
  const seen = row && (reach.kind === 'all' || (reach.kind === 'owner' ? row.user_id === reach.userId : row.agent_id === reach.agentId));
  if (!row || !seen) throw AuditErrors.AUDIT_ENTRY_NOT_FOUND();
  return row;
}

const fingerprint = (filter: AuditFilter): string =>
  hash('sha256', JSON.stringify([filter.agentId, filter.userId, filter.since, filter.until, filter.actions, filter.result, filter.ownerId, filter.tenantId]), 'base64url').slice(
    0,
    8,
  );

/** Place in the list and the filters it belongs to. */
const writeCursor = (seq: number, filter: AuditFilter): string => Buffer.from(`${seq}.${fingerprint(filter)}`).toString('base64url');

function readCursor(cursor: string, filter: AuditFilter): number {
  const parsed = /^([1-9]\d{0,15})\.([\w-]{8})$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (!parsed) throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  if (parsed[2] !== fingerprint(filter)) throw validationFailed([{ path: 'cursor', message: 'belongs to other filters' }]);
  return Number(parsed[1]);
}
