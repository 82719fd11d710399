import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { parseWith, text } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { redeliver, testWebhook } from './deliveries.ts';
import { createWebhook, deleteWebhook, rotateWebhook, updateWebhook } from './manage-webhooks.ts';
import { CreateWebhook, type Delivery, UpdateWebhook, type Webhook, type WebhookWithSecret } from './schema.ts';
import { findDeliveries, findWebhook, findWebhooks, toDelivery, toWebhook } from './store.ts';

const ForOwner = CreateWebhook.extend({ ownerId: text(128) });
const MAX = 1000;

/**
 * `legate.webhooks`: the endpoints under /webhooks as functions, with the rights of an admin. Throws {@link
 * LegateError}.
 */
export interface WebhooksApi {
  create(input: z.input<typeof ForOwner>): Promise<WebhookWithSecret>;
  list(): Promise<Webhook[]>;
  get(id: string): Promise<Webhook>;
  update(id: string, input: z.input<typeof UpdateWebhook>): Promise<Webhook>;
  delete(id: string): Promise<void>;
  test(id: string): Promise<Delivery>;
  rotate(id: string): Promise<WebhookWithSecret>;
  /** Returns the newest thousand. */
  deliveries(id: string): Promise<Delivery[]>;
  redeliver(deliveryId: string): Promise<Delivery>;
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
    get: async (id) => toWebhook(await findWebhook(db, all, id)),
    update: async (id, input) => updateWebhook(platform, caller, id, parseWith(UpdateWebhook, input)),
    delete: (id) => deleteWebhook(platform, caller, id),
    test: (id) => testWebhook(platform, all, id),
    rotate: (id) => rotateWebhook(platform, caller, id),
    deliveries: async (id) =>
      (await findDeliveries(db, (await findWebhook(db, all, id)).id, undefined, page)).map(toDelivery),
    redeliver: (id) => redeliver(platform, caller, id),
  };
}
