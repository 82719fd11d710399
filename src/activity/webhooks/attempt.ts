import { SYSTEM } from '../../access/actor.ts';
import { isActive } from '../../authorization/agents/index.ts';
import { MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import { unseal } from '../../kernel/encryption.ts';
import { signWebhook } from '../../kernel/webhook-signature.ts';
import { type Change, changedFields } from '../../ledger/index.ts';
import { createGuardedFetch, GuardedFetchError } from '../../operations/outbound/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { Db, WebhookDeliveryRow, WebhookRow } from '../../storage/index.ts';
import { type Answered, recordAttempt } from './attempt-log.ts';
import { getsAll, isOfOwner } from './may-receive.ts';
import { SECRET_PURPOSE } from './signature.ts';
import { keepWebhooks } from './store.ts';
import { settingsOf, webhookEvent } from './webhook-events.ts';

const MAX_ANSWER_BYTES = 16_384;
export const MAX_RETRY_AFTER_MS = 60 * MINUTE_MS;
/** After this many failures in a row, an endpoint is paused, so that a failing one does not delay others. */
export const BREAKER_FAILURES = 20;
export const BREAKER_MS = 30 * SECOND_MS;

interface Result extends Answered {
  readonly retryAfterMs?: number;
}

export const webhookFetch = defineState(({ config }) =>
  createGuardedFetch({ allowPrivateNetworks: config.webhooks.allowPrivateNetworks }),
);

/**
 * Makes one attempt (contract 13; Standard Webhooks). Only 2xx within `webhooks.timeoutMs` is success; a redirect is a
 * failure. Stores the result: delivered, to be retried after a delay, or dropped. 410 disables the endpoint, as does
 * the end of an agent that set its address. Nothing is sent while the owner is suspended or the webhook is disabled, or
 * if it may no longer see the event.
 *
 * @param leases every lease that this process has written for the delivery. Grows while the attempt is in progress.
 * @param last true: a failure is not retried.
 */
export async function attempt(
  platform: Platform,
  delivery: WebhookDeliveryRow,
  leases: readonly number[],
  last: boolean,
): Promise<WebhookDeliveryRow> {
  const webhook = await platform.database.read
    .selectFrom('webhooks')
    .innerJoin('users', 'users.id', 'webhooks.user_id')
    .selectAll('webhooks')
    .select(['users.role', 'users.suspended_at'])
    .where('webhooks.id', '=', delivery.webhook_id)
    .executeTakeFirst();
  if (!webhook) return delivery;
  // Messages wait while the person is suspended or the webhook is disabled. A test message, which has no retries,
  // reports nothing and is sent.
  if ((webhook.suspended_at !== null || webhook.enabled === 0) && !last) return delivery;
  if (!(await mayItsAgentReceive(platform, webhook))) {
    await platform.ledger.change(SYSTEM, (change) => disable(change, webhook, 'agent-not-allowed'));
    return dropHidden(platform, delivery, leases);
  }
  if (!getsAll(webhook) && !(await isOfOwner(platform, webhook, delivery)))
    return dropHidden(platform, delivery, leases);
  const startedAt = performance.now();
  const result = await send(platform, webhook, delivery);
  const durationMs = performance.now() - startedAt;
  const now = platform.clock.now();
  const attempts = delivery.attempts + 1;
  const good = result.status !== null && result.status >= 200 && result.status < 300;
  const wait = platform.config.webhooks.retryDelaysMs[attempts - 1];
  const gone = result.status === 410;
  const dropped = !good && (last || gone || wait === undefined);
  const set = {
    status: good ? ('delivered' as const) : dropped ? ('dropped' as const) : ('pending' as const),
    attempts,
    next_at: good || dropped ? now : now + Math.max(jittered(wait ?? 0), result.retryAfterMs ?? 0),
    lease_until: 0,
    last_status: result.status,
    last_error: good ? null : result.error,
    delivered_at: good ? now : null,
  };
  const write = async (db: Db): Promise<void> => {
    await keepWebhooks(platform.database, db, [webhook.id]);
    const { status, body } = result;
    await recordAttempt(
      db,
      delivery.id,
      { status, error: set.last_error, ...(body ? { body } : {}) },
      { at: now, durationMs },
    );
    const row = db.updateTable('webhook_deliveries').set(set).where('id', '=', delivery.id);
    // A failure counts only under a lease of this process: otherwise the message was redelivered or taken over.
    await (good ? row : row.where('lease_until', 'in', leases)).execute();
    // Ignores results for a URL that has since been changed.
    const endpoint = db.updateTable('webhooks').where('id', '=', webhook.id).where('url', '=', webhook.url);
    if (good) await endpoint.set({ failures: 0, paused_until: 0 }).where('failures', '>', 0).execute();
    else if (!gone) {
      // Incremented in the database, because several attempts for one endpoint can end at the same time.
      const row = await endpoint
        .set((eb) => ({ failures: eb('failures', '+', 1) }))
        .returning('failures')
        .executeTakeFirst();
      if (row && row.failures >= BREAKER_FAILURES) await endpoint.set({ paused_until: now + BREAKER_MS }).execute();
    }
  };
  if (gone)
    await platform.ledger.change(SYSTEM, async (change) => {
      await write(change.db);
      await disable(change, webhook, 'gone');
    });
  else await platform.ledger.maintain(write);
  return { ...delivery, ...set };
}

/** Drops a delivery without an attempt: since it was queued, its webhook has lost the right to see the event. */
async function dropHidden(
  { clock, ledger }: Pick<Platform, 'clock' | 'ledger'>,
  delivery: WebhookDeliveryRow,
  leases: readonly number[],
): Promise<WebhookDeliveryRow> {
  const ended = { status: 'dropped', next_at: clock.now(), lease_until: 0 } as const;
  const set = { ...ended, last_status: null, last_error: 'not_visible' };
  await ledger.maintain((db) =>
    db
      .updateTable('webhook_deliveries')
      .set(set)
      .where('id', '=', delivery.id)
      .where('lease_until', 'in', leases)
      .execute(),
  );
  return { ...delivery, ...set };
}

/**
 * Returns whether the agent that set the address of a webhook may still receive events there; true if a person set it.
 * Otherwise an agent that is revoked would go on to learn what its owner's other agents do.
 */
async function mayItsAgentReceive(
  { clock, database, mayUseOwnResource }: Pick<Platform, 'clock' | 'database' | 'mayUseOwnResource'>,
  { agent_id }: WebhookRow,
): Promise<boolean> {
  if (agent_id === null) return true;
  const agent = await database.read
    .selectFrom('agents')
    .select(['revoked_at', 'expires_at'])
    .where('id', '=', agent_id)
    .executeTakeFirst();
  if (!agent || !isActive(agent, clock.now())) return false;
  return mayUseOwnResource(database.read, agent_id, 'legate:events', 'read');
}

/** Disables a webhook, unless its address has changed meanwhile. */
async function disable(
  change: Change,
  { id, url }: WebhookRow,
  disabled_reason: 'gone' | 'agent-not-allowed',
): Promise<void> {
  const { db, now } = change;
  const before = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('url', '=', url)
    .executeTakeFirst();
  if (!before || before.enabled === 0) return;
  const set = { enabled: 0, disabled_reason, updated_at: now };
  await db.updateTable('webhooks').set(set).where('id', '=', id).execute();
  const event = webhookEvent('webhook.updated', before);
  const fields = changedFields(settingsOf(before), settingsOf({ ...before, ...set }));
  change.emit({ ...event, data: { ...event.data, changed: ['enabled'] }, ...fields });
}

/** The largest factor of {@link jittered}. */
export const MAX_JITTER = 1.1;
const jittered = (ms: number): number => Math.round(ms * (0.9 + Math.random() * 0.2));

async function send(
  platform: Pick<Platform, 'clock' | 'config' | 'log' | 'secrets' | 'stateOf'>,
  webhook: WebhookRow,
  { event_id, body }: WebhookDeliveryRow,
): Promise<Result> {
  const now = platform.clock.now();
  const timestamp = Math.floor(now / SECOND_MS);
  const keys = platform.secrets().cookie;
  const sealed = [
    webhook.secret,
    ...(webhook.previous_secret !== null && now < (webhook.previous_until ?? 0) ? [webhook.previous_secret] : []),
  ];
  let secrets: string[];
  try {
    secrets = sealed.map((each) => unseal(keys, SECRET_PURPOSE, webhook.id, each));
  } catch (error) {
    // Nothing can be signed without the key in secrets.json. Rotating the webhook's secret fixes it.
    platform.log.error({ err: error, webhookId: webhook.id }, 'the secret of a webhook cannot be read');
    return { status: null, error: 'secret_unreadable' };
  }
  try {
    const response = await platform.stateOf(webhookFetch)(webhook.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Legate-Webhooks/1',
        'webhook-id': event_id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signWebhook(secrets, event_id, timestamp, body),
      },
      body,
      timeoutMs: platform.config.webhooks.timeoutMs,
      maxBytes: MAX_ANSWER_BYTES,
      overflow: 'cut',
    });
    const seconds = /^\d{1,6}$/.exec(response.headers.get('retry-after') ?? '')?.[0];
    return {
      status: response.status,
      error: `answered ${response.status}`,
      body: response.body,
      ...(seconds === undefined ? {} : { retryAfterMs: Math.min(MAX_RETRY_AFTER_MS, Number(seconds) * SECOND_MS) }),
    };
  } catch (error) {
    // No details of a refused address, because they would reveal the network to the owner of the webhook.
    if (error instanceof GuardedFetchError) return { status: null, error: error.problem };
    throw error;
  }
}
