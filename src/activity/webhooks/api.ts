import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asOverHttp, type ChangeOptions, expecting, type InProcess } from '../../access/in-process.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { asId } from '../../kernel/ids.ts';
import { parseWith, text } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { getDelivery, redeliver, testWebhook } from './deliveries.ts';
import { createWebhook, deleteWebhook, rotateWebhook, updateWebhook } from './manage-webhooks.ts';
import { recoverWebhook } from './recover.ts';
import {
  CreateWebhook,
  type Delivery,
  type DeliveryWithAttempts,
  Recover,
  UpdateWebhook,
  type Webhook,
  type WebhookWithSecret,
} from './schema.ts';
import { findDeliveries, findWebhooks, getWebhookRow, toDelivery, toWebhook } from './store.ts';

const ForOwner = CreateWebhook.extend({ ownerId: idOf('user', text(128)) });
const MAX = 1000;

/**
 * `legate.webhooks`: the endpoints under /webhooks as functions, with the rights of an admin. Throws {@link
 * LegateError}.
 */
export interface WebhooksApi {
  create(input: z.input<typeof ForOwner>): Promise<WebhookWithSecret>;
  list(): Promise<Webhook[]>;
  get(id: string): Promise<Webhook>;
  update(id: string, input: z.input<typeof UpdateWebhook>, options?: ChangeOptions): Promise<Webhook>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  test(id: string): Promise<Delivery>;
  rotate(id: string, options?: ChangeOptions): Promise<WebhookWithSecret>;
  /** Returns the newest thousand. */
  deliveries(id: string): Promise<Delivery[]>;
  /** One delivery with its payload and the newest hundred attempts. */
  delivery(deliveryId: string): Promise<DeliveryWithAttempts>;
  redeliver(deliveryId: string): Promise<Delivery>;
  /** Redelivers the failed deliveries of a time range, at most 1,000 per call. */
  recover(id: string, span: InProcess<z.input<typeof Recover>>): Promise<{ recovered: number; more: boolean }>;
}

export function webhooksApi(platform: Platform, actor: Actor): WebhooksApi {
  const all = { kind: 'all' } as const;
  const caller = applicationCaller(actor);
  const db = platform.database.read;
  const page = { after: undefined, limit: MAX };
  return {
    create: async (input) => {
      const { ownerId, ...webhook } = parseWith(ForOwner, input);
      return createWebhook(platform, caller, ownerId, webhook);
    },
    list: async () => (await findWebhooks(db, all, {}, page)).map(toWebhook),
    get: async (id) => toWebhook(await getWebhookRow(db, all, asId('webhook', id))),
    update: async (id, input, options) =>
      updateWebhook(platform, expecting(caller, options), asId('webhook', id), parseWith(UpdateWebhook, input)),
    delete: async (id, options) => deleteWebhook(platform, expecting(caller, options), asId('webhook', id)),
    test: (id) => testWebhook(platform, caller, asId('webhook', id)),
    rotate: async (id, options) => rotateWebhook(platform, expecting(caller, options), asId('webhook', id)),
    deliveries: async (id) =>
      (await findDeliveries(db, (await getWebhookRow(db, all, asId('webhook', id))).id, undefined, page)).map(
        toDelivery,
      ),
    delivery: (id) => getDelivery(platform, caller, asId('delivery', id)),
    recover: async (id, span) =>
      recoverWebhook(platform, caller, asId('webhook', id), parseWith(Recover, asOverHttp(span))),
    redeliver: (id) => redeliver(platform, caller, asId('delivery', id)),
  };
}
