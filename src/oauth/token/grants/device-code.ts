import type { Actor } from '../../../access/actor.ts';
import { SECOND_MS } from '../../../kernel/clock.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import type { RefusalReason } from '../../../kernel/refusals.ts';
import { secretHash } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { OAuthDeviceRequestRow } from '../../../storage/index.ts';
import type { Client } from '../../clients/client.ts';
import { ClientErrors, OAuthErrors } from '../../errors.ts';
import { getTarget, isRegistered, noLongerRegistered, type Target } from '../../resource.ts';
import { inactiveAgent, mayAgentAct } from '../../tokens/active-agent.ts';
import { firstTokens, insertGrant, type TokenResponse } from '../issue-tokens.ts';
import type { DeviceCodeRequest } from '../token-request.ts';

/** Seconds by which the interval grows with each request that comes too early (RFC 8628, section 3.5). */
const SLOW_DOWN_SECONDS = 5;
/** Tolerance for requests that arrive at shorter intervals than they were sent. */
const JITTER_MS = SECOND_MS;

/**
 * `grant_type=urn:ietf:params:oauth:grant-type:device_code` (RFC 8628, section 3.4; contract 23.6). The errors make the
 * device continue polling (authorization_pending, slow_down) or stop (access_denied, expired_token). One atomic
 * statement marks an allowed code as used, so of several requests one gets tokens.
 */
export async function exchangeDeviceCode(
  platform: Platform,
  client: Client,
  request: DeviceCodeRequest,
  from: Actor,
): Promise<TokenResponse> {
  const target = request.resource === undefined ? undefined : await getTarget(platform, request.resource);
  return platform.ledger.changeTogether({ ...from, clientId: client.id }, (change) =>
    exchangeOne(platform, change, client, request, target),
  );
}

/** Returns refusals instead of throwing them, so that the time of the request is stored. */
async function exchangeOne(
  platform: Pick<Platform, 'audience' | 'config' | 'database' | 'issuer' | 'secrets' | 'stateOf'>,
  change: Change,
  client: Client,
  { device_code }: DeviceCodeRequest,
  target: Target | undefined,
): Promise<TokenResponse | LegateError> {
  const { db, now } = change;
  const row = await db
    .selectFrom('oauth_device_requests')
    .selectAll()
    .where('device_code_hash', '=', secretHash(device_code))
    .executeTakeFirst();
  if (!row) return refused('device-code-unknown');
  if (row.client_id !== client.id) return refused('device-code-of-another-client');
  if (row.status === 'used') return refused('device-code-used');
  if (target && target.resource !== row.resource)
    return OAuthErrors.OAUTH_INVALID_TARGET({
      reason: 'device-code-resource',
      message: 'The device code was issued for another resource.',
    });
  if (now >= row.expires_at) return OAuthErrors.OAUTH_EXPIRED_TOKEN();
  if (row.status === 'denied') return ClientErrors.DEVICE_ACCESS_DENIED();
  if (row.status === 'pending') return keepWaiting(change, row);
  return issue(platform, change, client, row);
}

/** Stores the time of the request, and the longer interval if it came too early. */
async function keepWaiting({ db, now }: Change, row: OAuthDeviceRequestRow): Promise<LegateError> {
  const early = row.polled_at !== null && now < row.polled_at + row.poll_seconds * SECOND_MS - JITTER_MS;
  await db
    .updateTable('oauth_device_requests')
    .set({ polled_at: now, poll_seconds: row.poll_seconds + (early ? SLOW_DOWN_SECONDS : 0) })
    .where('device_code_hash', '=', row.device_code_hash)
    .execute();
  return early ? OAuthErrors.OAUTH_SLOW_DOWN() : OAuthErrors.OAUTH_AUTHORIZATION_PENDING();
}

async function issue(
  platform: Pick<Platform, 'audience' | 'config' | 'database' | 'issuer' | 'secrets' | 'stateOf'>,
  change: Change,
  client: Client,
  { device_code_hash }: OAuthDeviceRequestRow,
): Promise<TokenResponse | LegateError> {
  const { db, now } = change;
  const row = await db
    .updateTable('oauth_device_requests')
    .set({ status: 'used' })
    .where('device_code_hash', '=', device_code_hash)
    .where('status', '=', 'allowed')
    .returningAll()
    .executeTakeFirst();
  if (!row || row.user_id === null || row.agent_id === null) return refused('device-code-used');
  if (!(await isRegistered(platform, db, row.resource))) return noLongerRegistered();
  if (!(await mayAgentAct(platform.database, db, row.agent_id, now))) return inactiveAgent();
  change.actAs({ ...change.actor, kind: 'user', id: row.user_id });
  const grant = await insertGrant(platform, change, {
    ...(row.grant_id === null ? {} : { id: row.grant_id }),
    client_id: client.id,
    user_id: row.user_id,
    agent_id: row.agent_id,
    kind: 'device_code',
    scope: row.scope,
    resource: row.resource,
  });
  return firstTokens(platform, change, client, grant);
}

/** The message is the same for every reason, so that it does not reveal which codes exist. */
const refused = (reason: RefusalReason) =>
  OAuthErrors.OAUTH_INVALID_GRANT({
    reason,
    message: 'The device code is not valid, was used, or does not fit this request.',
  });
