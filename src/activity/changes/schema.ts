import { z } from 'zod';
import { PageQuery } from '../../http/page.ts';
import { isoMoment, text } from '../../kernel/json.ts';
import { anyOf } from '../../kernel/query.ts';
import { EVENT_TYPES, type EventType } from '../../ledger/index.ts';
import { StreamEvent } from '../stream/schema.ts';

/** Ids of subjects: external user ids and OAuth client ids, which may be URLs, included. */
const MAX_ID_CHARS = 2048;

/** Query of GET /changes (contract 17.2). */
export const ListChanges = PageQuery.extend({
  subject: anyOf(
    text(MAX_ID_CHARS),
    'Id of the subject: an agent, delegation, user, client, grant, server, webhook, budget and so on.',
  ),
  actor: anyOf(text(MAX_ID_CHARS), 'Id of the actor.'),
  type: anyOf(
    z
      .custom<EventType>((name) => typeof name === 'string' && Object.hasOwn(EVENT_TYPES, name), {
        error: 'must be a type of event',
      })
      .meta({ type: 'string' }),
    'Type of the event, such as agent.updated.',
  ),
  since: isoMoment.optional().meta({ description: 'Inclusive.' }),
  until: isoMoment.optional().meta({ description: 'Exclusive.' }),
}).refine(({ since, until }) => since === undefined || until === undefined || since <= until, {
  path: ['until'],
  error: 'must not be before since',
});
export type ListChanges = z.output<typeof ListChanges>;
export type ChangeFilter = Omit<ListChanges, 'limit' | 'cursor'>;

/** The event of a change, with its sequence. */
export const RecordedChange = StreamEvent.extend({ seq: z.int() }).meta({ id: 'RecordedChange' });
export type RecordedChange = z.output<typeof RecordedChange>;
