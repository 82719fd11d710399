import { z } from 'zod';
import { afterCursor, cutPage, nextPage } from '../../http/page.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { getDelivery, redeliver, testWebhook } from './deliveries.ts';
import { WebhookErrors } from './errors.ts';
import { createWebhook, deleteWebhook, rotateWebhook, updateWebhook } from './manage-webhooks.ts';
import { recoverWebhook } from './recover.ts';
import {
  CreateWebhook,
  Delivery,
  DeliveryWithAttempts,
  ListDeliveries,
  ListWebhooks,
  Recover,
  Recovered,
  UpdateWebhook,
  Webhook,
  WebhookWithSecret,
} from './schema.ts';
import { findDeliveries, findWebhooks, getWebhookRow, toDelivery, toWebhook } from './store.ts';

const mayRead = { resource: 'legate:webhooks', action: 'read', self: false } as const;
const mayWrite = { resource: 'legate:webhooks', action: 'write', self: false } as const;
const {
  DELIVERY_NOT_FOUND,
  WEBHOOK_BUSY,
  WEBHOOK_LIMIT_EXCEEDED,
  WEBHOOK_NOT_FOUND,
  WEBHOOK_ROTATING,
  WEBHOOK_TYPES_UNSUPPORTED,
} = WebhookErrors;

/** Contract 13. */
export const webhookRoutes = [
  defineRoute({
    method: 'POST',
    path: '/webhooks',
    summary: 'Create a webhook',
    description:
      'Standard Webhooks. The secret that verifies the messages is shown once. Events that the owner may see are ' +
      'delivered; all events for an admin, unless an agent has set the address.',
    access: mayWrite,
    versioned: true,
    body: CreateWebhook,
    responses: { 201: WebhookWithSecret },
    secrets: ['secret'],
    errors: [WEBHOOK_LIMIT_EXCEEDED, WEBHOOK_TYPES_UNSUPPORTED],
    handle: async (call, platform) => {
      const { principal } = call;
      const ownerId =
        principal.kind === 'agent' ? principal.ownerId : principal.kind === 'anonymous' ? undefined : principal.userId;
      if (ownerId === undefined) throw CommonErrors.UNAUTHORIZED();
      return { status: 201, body: await createWebhook(platform, call, ownerId, call.body) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks',
    summary: 'List webhooks',
    description: 'Newest first. A Link header with rel="next" points to the next page.',
    access: mayRead,
    query: ListWebhooks,
    responses: { 200: z.array(Webhook) },
    handle: async (call, platform) => {
      const { limit, cursor, ...filter } = call.query;
      const { rows, next } = cutPage(
        await findWebhooks(platform.database.read, call.visibility, filter, {
          after: afterCursor('webhook', cursor),
          limit: limit + 1,
        }),
        limit,
      );
      return { status: 200, body: rows.map(toWebhook), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks/:id',
    summary: 'Get a webhook',
    access: mayRead,
    versioned: true,
    params: idParams('webhook'),
    responses: { 200: Webhook },
    errors: [WEBHOOK_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toWebhook(await getWebhookRow(platform.database.read, call.visibility, call.params.id)),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/webhooks/:id',
    summary: 'Change, disable or enable a webhook',
    access: mayWrite,
    versioned: true,
    params: idParams('webhook'),
    body: UpdateWebhook,
    responses: { 200: Webhook },
    errors: [WEBHOOK_NOT_FOUND, WEBHOOK_TYPES_UNSUPPORTED],
    handle: async (call, platform) => ({
      status: 200,
      body: await updateWebhook(platform, call, call.params.id, call.body),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/webhooks/:id',
    summary: 'Delete a webhook',
    description: 'Also deletes its pending deliveries.',
    access: mayWrite,
    versioned: true,
    params: idParams('webhook'),
    responses: { 204: null },
    errors: [WEBHOOK_NOT_FOUND],
    handle: async (call, platform) => {
      await deleteWebhook(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/:id/test',
    summary: 'Send a test message',
    description: 'Makes one attempt immediately and returns its result.',
    access: mayWrite,
    params: idParams('webhook'),
    responses: { 200: Delivery },
    errors: [WEBHOOK_NOT_FOUND, WEBHOOK_BUSY],
    handle: async (call, platform) => ({
      status: 200,
      body: await testWebhook(platform, call, call.params.id),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/:id/rotate',
    summary: 'Rotate the secret of a webhook',
    description: 'For 24 hours, messages are signed with the previous secret too.',
    access: mayWrite,
    versioned: true,
    params: idParams('webhook'),
    responses: { 200: WebhookWithSecret },
    secrets: ['secret'],
    errors: [WEBHOOK_NOT_FOUND, WEBHOOK_ROTATING],
    handle: async (call, platform) => ({ status: 200, body: await rotateWebhook(platform, call, call.params.id) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    summary: 'List deliveries of a webhook',
    description: 'Newest first, including dropped ones. A Link header with rel="next" points to the next page.',
    access: mayRead,
    params: idParams('webhook'),
    query: ListDeliveries,
    responses: { 200: z.array(Delivery) },
    errors: [WEBHOOK_NOT_FOUND],
    handle: async (call, platform) => {
      const { limit, cursor, status } = call.query;
      const db = platform.database.read;
      const { id } = await getWebhookRow(db, call.visibility, call.params.id);
      const { rows, next } = cutPage(
        await findDeliveries(db, id, status, { after: afterCursor('delivery', cursor), limit: limit + 1 }),
        limit,
      );
      return { status: 200, body: rows.map(toDelivery), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/deliveries/:id/redeliver',
    summary: 'Redeliver a message',
    description: 'Starts again with the first attempt, with the same webhook-id.',
    access: mayWrite,
    params: idParams('delivery'),
    responses: { 200: Delivery },
    errors: [DELIVERY_NOT_FOUND],
    handle: async (call, platform) => ({ status: 200, body: await redeliver(platform, call, call.params.id) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks/deliveries/:id',
    summary: 'Get a delivery with its attempts',
    description:
      'With the message as it is sent, and for each attempt status, duration and the beginning of the response. An ' +
      'agent also needs `legate:events` read.',
    access: mayRead,
    params: idParams('delivery'),
    responses: { 200: DeliveryWithAttempts },
    errors: [DELIVERY_NOT_FOUND],
    handle: async (call, platform) => {
      return { status: 200, body: await getDelivery(platform, call, call.params.id) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/:id/recover',
    summary: 'Redeliver failed deliveries of a time range',
    description:
      'The oldest 1,000 deliveries that were created in the range and were dropped or wait for another attempt, from ' +
      'the first attempt on.',
    access: mayWrite,
    params: idParams('webhook'),
    body: Recover,
    responses: { 200: Recovered },
    errors: [WEBHOOK_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: await recoverWebhook(platform, call, call.params.id, call.body),
    }),
  }),
];
