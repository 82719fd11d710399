import { isoTime } from '../../kernel/clock.ts';
import { asId, type Id, isId, timeOfId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { toJsonText } from '../audit/index.ts';

/** On the stream every id is `evt_...`, that of an audit entry too. */
export const eventId = (id: string): Id<'event'> => asId('event', id.startsWith('aud_') ? `evt_${id.slice(4)}` : id);

/** Returns the row of an event by its id on the stream or by the id of its audit entry. */
export async function findRowOf({ reader }: Pick<Platform, 'reader'>, id: string): Promise<StreamEventRow | undefined> {
  if (!isId('event', id) && !isId('audit', id)) return undefined;
  const body = id.slice(4);
  const around = timeOfId(id);
  return (await reader.byId(`evt_${body}`, around)) ?? (await reader.byId(`aud_${body}`, around));
}

const text = (value: string): string => JSON.stringify(value);

/** Returns the record as JSON (specification 2.7, contract 13 and 17.1). */
export function toJson(row: StreamEventRow): string {
  const data = row.type === 'audit' ? toJsonText(row) : (row.data ?? '{}');
  const agent = row.agent_id === null ? '' : `,"agentId":${text(row.agent_id)}`;
  const user = row.user_id === null ? '' : `,"userId":${text(row.user_id)}`;
  // The stored object's members become members of the record.
  const change = row.change === null ? '' : `,${row.change.slice(1, -1)}`;
  return (
    `{"id":"${eventId(row.id)}","type":"${row.type}","timestamp":"${isoTime(row.timestamp)}",` +
    `"data":${data}${agent}${user}${change}}`
  );
}

/** Returns the frame of a record: `id:`, `event:` and `data:` (HTML, section 9.2). */
export const frameText = (row: StreamEventRow): string =>
  `id: ${eventId(row.id)}\nevent: ${row.type}\ndata: ${toJson(row)}\n\n`;
