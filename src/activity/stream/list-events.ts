import type { Visibility } from '../../access/principal.ts';
import { isId, timeOfId } from '../../kernel/ids.ts';
import { filterFieldsOf, matches } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { checkPlace, filterOf, readPage, rowIds } from '../audit/index.ts';
import { EventErrors } from './errors.ts';
import { toJson } from './record.ts';
import type { ListEvents, StreamEvent } from './schema.ts';

/**
 * Returns a page of events that a caller may see, newest first unless `order` is `asc`. Throws 404 EVENT_NOT_FOUND if
 * `around` is not one of them.
 */
export async function listEvents(
  platform: Pick<Platform, 'beforeLongPage' | 'config' | 'database' | 'reader'>,
  caller: Visibility,
  { limit, order, cursor, around, ...query }: ListEvents,
): Promise<{ events: StreamEvent[]; next: string | undefined; prev: string | undefined }> {
  checkPlace({ cursor, around });
  const { types, ...filters } = query;
  const shown = platform.config.events.eventTypes.filter((type) => types === undefined || types.includes(type));
  const filter = await filterOf(platform.database.read, caller, shown, filters);
  const middle = around === undefined ? undefined : await getSeq(platform, caller, around);
  const place = { limit, order, cursor, around: middle };
  const { rows, next, prev } = await readPage(platform, filter, { list: 'events', ...query }, place);
  return { events: rows.map(eventOf), next, prev };
}

/** A row that was changed in the database to contain other texts than JSON is shown without them. */
function eventOf(row: StreamEventRow): StreamEvent {
  try {
    return JSON.parse(toJson(row)) as StreamEvent;
  } catch {
    const rest = { parameters: null, delegation_ids: null, decided: null, data: null, change: null };
    return JSON.parse(toJson({ ...row, ...rest })) as StreamEvent;
  }
}

/** Throws 404 EVENT_NOT_FOUND, also for an event that the caller cannot see. */
async function getSeq(
  { config, database, reader }: Pick<Platform, 'config' | 'database' | 'reader'>,
  caller: Visibility,
  id: string,
): Promise<number> {
  const filter = await filterOf(database.read, caller, config.events.eventTypes, {});
  if (isId('event', id) || isId('audit', id))
    for (const rowId of rowIds(id)) {
      const row = await reader.byId(rowId, timeOfId(rowId));
      if (row && matches(filterFieldsOf(row), filter.where)) return row.seq;
    }
  throw EventErrors.EVENT_NOT_FOUND();
}
