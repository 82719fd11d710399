import type { Visibility } from '../../access/principal.ts';
import { restrictTo } from '../../access/where-visible.ts';
import { validationFailed } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';
import { toJson } from './record.ts';
import type { ListEvents, StreamEvent } from './schema.ts';

/** Events that a caller may see, newest first. */
export async function listEvents(
  platform: Platform,
  caller: Visibility,
  { types, agentId, since, until, limit, cursor, ...owners }: ListEvents,
): Promise<{ events: StreamEvent[]; next: string | undefined }> {
  const none = { events: [], next: undefined };
  const visibility = await restrictTo(platform.database.read, caller, owners);
  if (
    visibility.kind === 'nothing' ||
    (visibility.kind === 'agent' && agentId !== undefined && agentId !== visibility.agentId)
  )
    return none;
  const shown = platform.config.events.eventTypes.filter((type) => types === undefined || types.includes(type));
  if (shown.length === 0) return none;
  const rows = await platform.reader.page(
    {
      types: shown,
      agentId: visibility.kind === 'agent' ? visibility.agentId : agentId,
      userId: visibility.kind === 'owner' ? visibility.userId : undefined,
      tenantId: visibility.kind === 'tenant' ? visibility.tenantId : undefined,
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
  if (!/^[1-9]\d{0,15}$/.test(text) || Buffer.from(text).toString('base64url') !== cursor)
    throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  return Number(text);
}
