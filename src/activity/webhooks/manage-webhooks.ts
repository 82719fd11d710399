import type { Caller, Changer } from '../../access/caller.ts';
import { AgentErrors } from '../../authorization/agents/index.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { seal } from '../../kernel/encryption.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { changedFields, readHead, setPosition, WEBHOOK_QUEUE } from '../../ledger/index.ts';
import { ensureExternalUser, findUser } from '../../people/users/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, WebhookRow } from '../../storage/index.ts';
import { type ChatFormat, isChatType } from './chat.ts';
import { dispatcherOf } from './dispatcher.ts';
import { WebhookErrors } from './errors.ts';
import type { CreateWebhook, UpdateWebhook, Webhook, WebhookWithSecret } from './schema.ts';
import { newWebhookSecret, SECRET_PURPOSE } from './signature.ts';
import { deleteRow, getWebhookRow, toWebhook } from './store.ts';
import { assertDeliverable } from './url.ts';
import { settingsOf, webhookEvent } from './webhook-events.ts';

const OVERLAP_MS = DAY_MS;
const MAX_WEBHOOKS = 50;

type By = Pick<Caller, 'reauthorize' | 'principal' | 'actor' | 'assertUnchanged'>;

/**
 * Creates a webhook for events from now on. The secret is shown only here. Throws 422 OWNER_NOT_FOUND,
 * WEBHOOK_LIMIT_EXCEEDED, WEBHOOK_TYPES_UNSUPPORTED.
 */
export async function createWebhook(
  platform: Pick<Platform, 'config' | 'ledger' | 'mayUseOwnResource' | 'secrets' | 'stateOf'>,
  caller: By,
  ownerId: Id<'user'>,
  input: CreateWebhook,
): Promise<WebhookWithSecret> {
  assertDeliverable(input.url, platform.config.webhooks.allowPrivateNetworks);
  const format = input.format ?? null;
  assertTypesFit(format, input.types);
  const secret = newWebhookSecret();
  const row = await platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    await assertMayReadEvents(platform, db, caller);
    if (caller.principal.kind === 'user' && caller.principal.via === 'external')
      await ensureExternalUser(change, caller.principal);
    else if (!(await findUser(db, ownerId))) {
      if (!platform.config.users.allowExternalOwners) throw AgentErrors.OWNER_NOT_FOUND();
      await ensureExternalUser(change, { userId: ownerId, tenantId: null });
    }
    const { count } = await db
      .selectFrom('webhooks')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('user_id', '=', ownerId)
      .executeTakeFirstOrThrow();
    if (Number(count) >= MAX_WEBHOOKS) throw WebhookErrors.WEBHOOK_LIMIT_EXCEEDED({ details: { limit: MAX_WEBHOOKS } });
    await beginHere(db);
    const id = newId('webhook', now);
    const made: WebhookRow = {
      id,
      user_id: ownerId,
      url: input.url,
      by_agent: byAgent(caller),
      agent_id: agentOf(caller),
      types: input.types ? JSON.stringify(input.types) : null,
      filters: input.filters ? JSON.stringify(input.filters) : null,
      format,
      secret: seal(platform.secrets().cookie, SECRET_PURPOSE, id, secret),
      previous_secret: null,
      previous_until: null,
      enabled: 1,
      disabled_reason: null,
      failures: 0,
      paused_until: 0,
      created_at: now,
      updated_at: now,
    };
    await db.insertInto('webhooks').values(made).execute();
    change.emit({ ...webhookEvent('webhook.created', made), after: settingsOf(made) });
    return made;
  });
  dispatcherOf(platform).wake();
  return Object.assign(toWebhook(row), { secret });
}

function assertTypesFit(format: ChatFormat | null, types: readonly string[] | null | undefined): void {
  const unfit = format === null ? [] : (types ?? []).filter((type) => !isChatType(type));
  if (unfit.length > 0) throw WebhookErrors.WEBHOOK_TYPES_UNSUPPORTED({ details: { path: 'types', types: unfit } });
}

/** Deliveries show what GET /events shows. Throws 403 FORBIDDEN for an agent that may not read events. */
export async function assertMayReadEvents(
  { mayUseOwnResource }: Pick<Platform, 'mayUseOwnResource'>,
  db: Db,
  { principal }: Pick<Caller, 'principal'>,
): Promise<void> {
  if (principal.kind !== 'agent') return;
  if (!(await mayUseOwnResource(db, principal.agentId, 'legate:events', 'read')))
    throw CommonErrors.FORBIDDEN({ message: 'Webhooks deliver events: the agent needs legate:events read as well.' });
}

/** Moves the position to the end of the ledger, because nothing was followed while no webhook was enabled. */
async function beginHere(db: Db): Promise<void> {
  if (await db.selectFrom('webhooks').select('id').where('enabled', '=', 1).limit(1).executeTakeFirst()) return;
  await setPosition(db, WEBHOOK_QUEUE, await readHead(db));
}

/** An agent is limited to what its owner owns (contract 4), even if the owner is an admin. */
const byAgent = ({ principal }: By): number => Number(principal.kind === 'agent');

const agentOf = ({ principal }: By): Id<'agent'> | null => (principal.kind === 'agent' ? principal.agentId : null);

/**
 * Changes the given fields. `enabled: true` and a URL also end a pause after failures. If no value differs, it emits no
 * event and keeps `updatedAt`. Throws 404 WEBHOOK_NOT_FOUND, 422 WEBHOOK_TYPES_UNSUPPORTED.
 */
export async function updateWebhook(
  platform: Pick<Platform, 'config' | 'ledger' | 'mayUseOwnResource' | 'stateOf'>,
  caller: By,
  id: Id<'webhook'>,
  input: UpdateWebhook,
): Promise<Webhook> {
  if (input.url !== undefined) assertDeliverable(input.url, platform.config.webhooks.allowPrivateNetworks);
  const row = await platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const before = await getWebhookRow(db, await caller.reauthorize(db), id);
    await assertMayReadEvents(platform, db, caller);
    caller.assertUnchanged?.(toWebhook(before));
    assertTypesFit(before.format, input.types);
    if (input.enabled === true && before.enabled === 0) await beginHere(db);
    const enabled = input.enabled === undefined ? before.enabled : Number(input.enabled);
    // An agent that repeats the URL of a person has not set it.
    const keepsUrl = input.url === undefined || (input.url === before.url && byAgent(caller) === 1);
    const isBegun = !keepsUrl || (input.enabled === true && before.enabled === 0);
    const by_agent = keepsUrl ? before.by_agent : byAgent(caller);
    const set = {
      url: input.url ?? before.url,
      by_agent,
      // Enabling it again makes the caller responsible for an address that an agent has set.
      agent_id: by_agent === 0 ? null : isBegun ? agentOf(caller) : before.agent_id,
      types: input.types === undefined ? before.types : input.types === null ? null : JSON.stringify(input.types),
      filters: input.filters === undefined ? before.filters : input.filters && JSON.stringify(input.filters),
      enabled,
      disabled_reason: enabled === before.enabled ? before.disabled_reason : input.enabled ? null : 'disabled',
    };
    const isSame = (Object.keys(set) as (keyof typeof set)[]).every((column) => set[column] === before[column]);
    const written = {
      ...set,
      ...(input.enabled || input.url !== undefined ? { failures: 0, paused_until: 0 } : {}),
      updated_at: isSame ? before.updated_at : now,
    };
    await db.updateTable('webhooks').set(written).where('id', '=', id).execute();
    const after = { ...before, ...written };
    const [was, is] = [toWebhook(before), toWebhook(after)];
    const changed = (['url', 'types', 'filters', 'enabled'] as const).filter(
      (f) => JSON.stringify(was[f]) !== JSON.stringify(is[f]),
    );
    if (changed.length > 0) {
      const event = webhookEvent('webhook.updated', after);
      const fields = changedFields(settingsOf(before), settingsOf(after));
      change.emit({ ...event, data: { ...event.data, changed }, ...fields });
    }
    return after;
  });
  dispatcherOf(platform).wake();
  return toWebhook(row);
}

/** Deletes a webhook and its pending deliveries. Throws 404 WEBHOOK_NOT_FOUND. */
export async function deleteWebhook(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  id: Id<'webhook'>,
): Promise<void> {
  await ledger.change(caller.actor, async (change) => {
    const { db } = change;
    const row = await getWebhookRow(db, await caller.reauthorize(db), id);
    caller.assertUnchanged?.(toWebhook(row));
    await deleteRow(db, id);
    change.emit({ ...webhookEvent('webhook.deleted', row), before: settingsOf(row) });
  });
}

/**
 * Creates a new secret. For 24 hours, messages are also signed with the previous one; until then another rotation
 * throws 409 WEBHOOK_ROTATING.
 */
export async function rotateWebhook(
  { ledger, secrets }: Pick<Platform, 'ledger' | 'secrets'>,
  caller: By,
  id: Id<'webhook'>,
): Promise<WebhookWithSecret> {
  const secret = newWebhookSecret();
  const row = await ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const before = await getWebhookRow(db, await caller.reauthorize(db), id);
    // Receivers trust the secret, so an agent must not learn that of a URL set by a person.
    if (caller.principal.kind === 'agent' && before.by_agent === 0) throw CommonErrors.FORBIDDEN();
    caller.assertUnchanged?.(toWebhook(before));
    if (before.previous_until !== null && now < before.previous_until) throw WebhookErrors.WEBHOOK_ROTATING();
    const set = {
      secret: seal(secrets().cookie, SECRET_PURPOSE, id, secret),
      previous_secret: before.secret,
      previous_until: now + OVERLAP_MS,
      updated_at: now,
    };
    await db.updateTable('webhooks').set(set).where('id', '=', id).execute();
    change.emit(webhookEvent('webhook.rotated', before));
    return { ...before, ...set };
  });
  return Object.assign(toWebhook(row), { secret });
}
