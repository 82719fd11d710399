import { z } from 'zod';
import { ActorSchema } from '../../access/actor-schema.ts';
import { PageQuery } from '../../http/page.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { isoInstant, isoTimestamp, jsonObject, storedObject, text } from '../../kernel/json.ts';
import { commaList } from '../../kernel/query.ts';
import { shownSecret } from '../../kernel/secret-schema.ts';
import { EVENT_TYPES, type EventType } from '../../ledger/index.ts';
import { ListFilters, PlaceQuery, RowFilters } from '../audit/index.ts';

/** Comma-separated names of types. */
const Types = commaList((name): name is EventType => Object.hasOwn(EVENT_TYPES, name), {
  max: Object.keys(EVENT_TYPES).length,
  expected: 'must be types of events, separated by commas',
  description: 'Types of events, separated by commas.',
}).optional();

/** Specification 4.7. */
export const StreamQuery = z.strictObject({
  token: z.string().max(16_384).optional().meta({
    description:
      'The Bearer token, for clients that cannot send the header. Prefer a ticket, because logs may contain addresses.',
  }),
  ticket: z.string().max(512).optional().meta({ description: 'From POST /events/ticket. Valid for one stream.' }),
  types: Types,
  since: isoInstant.optional().meta({ description: 'Replays events from this time on, inclusive.' }),
  lastEventId: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Like the header Last-Event-ID, which takes precedence.' }),
  ...RowFilters,
  maxPerSecond: z
    .string()
    .regex(/^[1-9][0-9]{0,3}$/, 'must be a whole number from 1 to 9999')
    .transform(Number)
    .optional()
    .meta({
      description:
        'Maximum number of events per second, 1 to 9999. Further events are left out and counted in `event: skipped`.',
      type: 'integer',
      minimum: 1,
      maximum: 9999,
    }),
  ticks: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'true: `event: tick` once a second with the number of decisions by result.' }),
});
export type StreamQuery = z.output<typeof StreamQuery>;

/** Specification 2.7; contract 17.1. */
export const StreamEvent = z
  .object({
    id: z.string(),
    type: z.string().meta({ description: `One of ${Object.keys(EVENT_TYPES).join(', ')}.` }),
    timestamp: isoTimestamp,
    data: storedObject,
    agentId: z.string().optional(),
    userId: z.string().optional(),
    actor: ActorSchema.optional().meta({
      description: 'Who caused the event. Absent for `audit` and for events from before actors were recorded.',
    }),
    before: storedObject.optional().meta({ description: 'Old values of the changed fields.' }),
    after: storedObject.optional().meta({ description: 'New values of the changed fields.' }),
  })
  .meta({ id: 'StreamEvent' });
export type StreamEvent = z.output<typeof StreamEvent>;

export const ListEvents = PageQuery.extend({ types: Types, ...ListFilters, ...PlaceQuery });
export type ListEvents = z.output<typeof ListEvents>;

export const Ticket = z.object({ ticket: shownSecret(), expiresAt: isoTimestamp }).meta({ id: 'StreamTicket' });

const MAX_DATA_BYTES = 1024 * 1024;

/**
 * An event that the application emits (specification 6.2.6). A record of specification 2.7 fits: its `id` and
 * `timestamp` are ignored, because the ledger assigns both. Type `audit` is refused, because only decisions create
 * audit entries.
 */
export const EmittedEvent = z.strictObject({
  type: z.custom<Exclude<EventType, 'audit'>>(
    (name) => typeof name === 'string' && name !== 'audit' && Object.hasOwn(EVENT_TYPES, name),
    {
      error: ({ input }) =>
        input === 'audit'
          ? 'must not be audit: only decisions create audit entries'
          : `must be a type of event; ${String(input)} is unknown`,
    },
  ),
  id: z.unknown().optional(),
  timestamp: z.unknown().optional(),
  data: jsonObject(MAX_DATA_BYTES),
  agentId: idOf('agent', text(64)).optional(),
  userId: idOf('user', text(128)).optional(),
});
