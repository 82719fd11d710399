import type { Reach } from '../lib/access.ts';
import { validationFailed } from '../lib/error.ts';
import type { Platform } from '../platform.ts';
import { narrowed } from '../storage/index.ts';
import { toJson } from './record.ts';
import type { ListEvents, StreamEvent } from './schema.ts';

/** Events that a caller may see, newest first. */
export async function listEvents(
  platform: Platform,
  caller: Reach,
  { types, agentId, since, until, limit, cursor, ...owners }: ListEvents,
): Promise<{ events: StreamEvent[]; next: string | undefined }> {
  const none = { events: [], next: undefined };
  const reach = await narrowed(platform.database.read, caller, owners);
  if (reach.kind === 'nothing' || (reach.kind === 'agent' && agentId !== undefined && agentId !== reach.agentId)) return none;
  const shown = platform.config.events.eventTypes.filter((type) => types === undefined || types.includes(type));
  if (shown.length === 0) return none;
  const rows = await platform.reader.page(
    {
      types: shown,
      agentId: reach.kind === 'agent' ? reach.agentId : agentId,
      userId: reach.kind === 'owner' ? reach.userId : undefined,
      tenantId: reach.kind === 'tenant' ? reach.tenantId : undefined,
      sinceMs: since,
      untilMs: until,
      beforeSeq: cursor === undefined ? undefined : seqOfCursor(cursor),
    },
    limit + 1,
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    events: page.map((row) => JSON.parse(toJson(row)) as StreamEvent),
    next: rows.length > page.length && last ? Buffer.from(String(last.seq)).toString('base64url') : undefined,
  };
}

function seqOfCursor(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString();
  if (!/^[1-9]\d{0,15}$/.test(text) || Buffer.from(text).toString('base64url') !== cursor) throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  return Number(text);
}
