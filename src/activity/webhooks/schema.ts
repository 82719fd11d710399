import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { PageQuery } from '../../http/page.ts';
import { isoMoment, isoTimestamp, text } from '../../kernel/json.ts';
import { anyOf } from '../../kernel/query.ts';
import { shownSecret } from '../../kernel/secret-schema.ts';
import { EVENT_TYPES } from '../../ledger/index.ts';
import { RowFilters } from '../audit/index.ts';
import { CHAT_FORMATS, CHAT_TYPES } from './chat.ts';

const TypeName = z.enum(Object.keys(EVENT_TYPES) as [string, ...string[]]);
const Url = text(2048);
const Types = z
  .array(TypeName)
  .min(1)
  .max(50)
  .transform((types) => [...new Set(types)])
  .nullable();

const Filters = z
  .strictObject(RowFilters)
  .refine((filters) => Object.values(filters).some((values) => values !== undefined), 'must have at least one filter')
  .nullable()
  .meta({
    id: 'WebhookFilters',
    description:
      'Filters of GET /events, each with a list of values of which one must match. Filters on decisions leave out ' +
      'other events. null: none.',
  });

/** Contract 13. */
export const CreateWebhook = z
  .strictObject({
    url: Url.meta({ description: 'https, and not a private address, unless webhooks.allowPrivateNetworks is on.' }),
    types: Types.optional().meta({
      description: 'Event types. If absent or null, all except `webhook.*`.',
    }),
    filters: Filters.optional(),
    format: z
      .enum(CHAT_FORMATS)
      .nullable()
      .optional()
      .meta({
        description:
          'Messages for an incoming webhook of Slack, of a workflow of Microsoft Teams, or of Discord, about ' +
          `${CHAT_TYPES.map((type) => `\`${type}\``).join(', ')}. If absent or null, the event as JSON. Cannot be ` +
          'changed later.',
      }),
  })
  .meta({ id: 'CreateWebhookRequest' });
export type CreateWebhook = z.output<typeof CreateWebhook>;

export const UpdateWebhook = z
  .strictObject({
    url: Url.optional(),
    types: Types.optional(),
    filters: Filters.optional(),
    enabled: z.boolean().optional().meta({ description: 'true re-enables a disabled webhook.' }),
  })
  .meta({ id: 'UpdateWebhookRequest' });
export type UpdateWebhook = z.output<typeof UpdateWebhook>;

export const Webhook = z
  .object({
    id: z.string(),
    ownerId: z.string(),
    url: z.string(),
    types: z.array(z.string()).nullable(),
    filters: z.record(z.string(), z.array(z.string())).nullable(),
    format: z.enum(CHAT_FORMATS).nullable(),
    enabled: z.boolean(),
    disabledReason: z
      .string()
      .nullable()
      .meta({
        description:
          '`disabled`: by a caller; `gone`: the receiver answered 410; `agent-not-allowed`: the agent that set the ' +
          'address was revoked, has expired, or may no longer read events.',
      }),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.output<typeof Webhook>;

export const WebhookWithSecret = Webhook.extend({
  secret: shownSecret('Signing secret (`whsec_...`, Standard Webhooks). Shown once.'),
}).meta({ id: 'WebhookWithSecret' });
export type WebhookWithSecret = z.output<typeof WebhookWithSecret>;

export const DeliveryStatus = z.enum(['pending', 'delivered', 'dropped']);

export const Delivery = z
  .object({
    id: z.string(),
    webhookId: z.string(),
    eventId: z.string().meta({ description: '`webhook-id` of the message, the same on every attempt.' }),
    type: z.string(),
    status: DeliveryStatus.meta({
      description: 'dropped: all attempts failed. POST .../redeliver tries again.',
    }),
    attempts: z.int(),
    lastStatus: z.int().nullable().meta({ description: 'HTTP status of the last response.' }),
    lastError: z
      .string()
      .nullable()
      .meta({
        description:
          'Why the last attempt failed: `answered <status>`, or without a response `timeout`, `connection_failed`, ' +
          '`tls_failed`, `response_invalid`, `name_not_resolved`, `address_refused` (a private or special-use ' +
          'address), `url_refused`, `secret_unreadable`; `overdue`: it waited for an hour because the ' +
          'receiver failed; `not_visible`: the webhook may no longer see the event.',
      }),
    nextAttemptAt: isoTimestamp.nullable(),
    createdAt: isoTimestamp,
    deliveredAt: isoTimestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });
export type Delivery = z.output<typeof Delivery>;

export const Attempt = z.object({
  at: isoTimestamp,
  status: z.int().nullable().meta({ description: 'null: there was no response.' }),
  error: z.string().nullable(),
  durationMs: z.int(),
  answer: z
    .string()
    .nullable()
    .meta({ description: 'The first 2 KB of the response, as text. Written by the receiver.' }),
});
export type Attempt = z.output<typeof Attempt>;

/** Contract 17.12. */
export const DeliveryWithAttempts = Delivery.extend({
  payload: z.string().meta({ description: 'The message as it is sent.' }),
  log: z.array(Attempt).meta({ description: 'The latest hundred attempts of the last 30 days, oldest first.' }),
}).meta({ id: 'WebhookDeliveryWithAttempts' });
export type DeliveryWithAttempts = z.output<typeof DeliveryWithAttempts>;

export const Recover = z
  .strictObject({ since: isoMoment, until: isoMoment.optional().meta({ description: 'Default: now.' }) })
  .meta({ id: 'RecoverWebhookRequest' });
export type Recover = z.output<typeof Recover>;

export const Recovered = z
  .object({
    recovered: z.int().meta({ description: 'Number of deliveries that are repeated.' }),
    more: z.boolean().meta({ description: 'true: the range has more deliveries. Send the request again.' }),
  })
  .meta({ id: 'RecoveredWebhook' });

export const ListWebhooks = PageQuery.extend(OwnerFilter);
export const ListDeliveries = PageQuery.extend({ status: anyOf(DeliveryStatus) });
