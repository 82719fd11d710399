import type { Actor } from '../../access/actor.ts';
import { asQuery } from '../../access/in-process.ts';
import { validationFailed } from '../../kernel/errors.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { EventType } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { listEvents } from './list-events.ts';
import { EmittedEvent, ListEvents, type StreamEvent } from './schema.ts';
import { acceptsStream, slotsOf } from './stream.ts';

const MAX_REPLAY = 1000;

/** `legate.events`: the event stream as functions, with the rights of an admin (contract 15). */
export interface EventsApi {
  /**
   * Responds to a request for the stream. Returns null for another path, method or Accept header (specification 4.7).
   */
  handleRequest(request: Request): Promise<Response | null>;
  /**
   * Records an event and pushes it to the streams of `userId` (by default the owner of `agentId`), of the agent and
   * of administrators. Takes a record of specification 2.7 too and ignores its `id` and `timestamp`: the ledger
   * assigns both. Throws 400 VALIDATION_FAILED, also for the type `audit`, which only decisions create.
   */
  emit(event: {
    readonly type: Exclude<EventType, 'audit'>;
    readonly data: Record<string, unknown>;
    readonly agentId?: string;
    readonly userId?: string;
    readonly id?: string;
    readonly timestamp?: string | Date;
  }): Promise<void>;
  /** Returns events from `since` on, at most 1,000, newest first (specification 6.2.2). */
  replay(since: Date | string, types?: readonly EventType[]): Promise<StreamEvent[]>;
  connectionCount(): number;
  /** Ends every stream and refuses new ones. */
  close(): void;
}

const ownerOf = async (db: Db, agentId: Id<'agent'>): Promise<Id<'user'> | undefined> =>
  isId('agent', agentId)
    ? (await db.selectFrom('agents').select('owner_id').where('id', '=', agentId).executeTakeFirst())?.owner_id
    : undefined;

export function eventsApi(
  platform: Pick<Platform, 'beforeLongPage' | 'config' | 'database' | 'ledger' | 'reader' | 'stateOf'>,
  actor: Actor,
  fetch: (request: Request) => Promise<Response>,
): EventsApi {
  const path = `${platform.config.http.basePath.replace(/\/$/, '')}/events/stream`;
  return {
    handleRequest: async (request) =>
      request.method === 'GET' && new URL(request.url).pathname === path && acceptsStream(request)
        ? fetch(request)
        : null,
    emit: async (event) => {
      const { type, data, agentId, userId } = parseWith(EmittedEvent, event);
      await platform.ledger.change(actor, async (change) => {
        const owner = userId ?? (agentId === undefined ? undefined : await ownerOf(change.db, agentId));
        change.emit({
          type,
          data,
          ...(agentId === undefined ? {} : { agentId }),
          ...(owner === undefined ? {} : { userId: owner }),
        });
      });
    },
    replay: async (since, types) => {
      const ms = new Date(since).getTime();
      if (Number.isNaN(ms)) throw validationFailed([{ path: 'since', message: 'must be a Date or a date-time' }]);
      const query = asQuery(ListEvents, { since: new Date(ms), limit: MAX_REPLAY, ...(types ? { types } : {}) });
      return (await listEvents(platform, { kind: 'all' }, query)).events;
    },
    connectionCount: () => slotsOf(platform).size,
    close: () => slotsOf(platform).close(),
  };
}
