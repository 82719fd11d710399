import { LegateError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { OAuthDeviceRequestRow } from '../../storage/index.ts';
import { approverOf, type Person } from '../authorize/authorize.ts';
import type { Client } from '../clients/client.ts';
import { isStillThere, resolveClient } from '../clients/resolve-client.ts';
import { assertMayConsent } from '../consent/consent.ts';
import { bindAgent } from '../consent/consent-agent.ts';
import { OAuthErrors } from '../errors.ts';
import { findTarget, isRegistered, type Target } from '../resource.ts';
import { findPendingRequest } from './user-code.ts';

/** A pending request of a device, as shown to the person. */
export interface DeviceRequest {
  readonly row: OAuthDeviceRequestRow;
  readonly client: Client;
  readonly target: Target;
}

/**
 * Returns the request with this user code. Returns undefined, and counts a wrong guess, if none is pending. Also
 * returns undefined if its client or resource has been deleted, or the metadata document of the client is no longer
 * valid. Throws 429 RATE_LIMIT_EXCEEDED.
 */
export async function findDeviceRequest(
  platform: Platform,
  person: Person,
  userCode: string,
): Promise<DeviceRequest | undefined> {
  const { reauthorize, actor, principal } = person;
  const row = await platform.ledger.change(actor, async (change) => {
    await reauthorize(change.db);
    return findPendingRequest(platform, change, principal.userId, userCode);
  });
  if (!row) return undefined;
  const client = await resolveClient(platform, row.client_id).catch((error: unknown) => {
    if (error instanceof LegateError && error.code === OAuthErrors.OAUTH_INVALID_CLIENT.code) return undefined;
    throw error;
  });
  const target = await findTarget(platform, row.resource);
  return client && target && { row, client, target };
}

export interface DeviceAnswer {
  /** Requested scopes that the person ticked. If empty, the request is denied. */
  readonly scopes: readonly string[];
  /** Id of one of the person's agents, or `new`. */
  readonly agent: string;
}

/**
 * Allows or denies a request, by one atomic statement, and emits `device.answered`. The actor names the grant that the
 * device code leads to (contract 17.1). Returns false if it has already been answered or has expired, and if it is
 * allowed although its client was deleted or its resource is no longer registered. Throws OAUTH_INVALID_REQUEST if the
 * person cannot choose the agent, 422 AGENT_LIMIT_EXCEEDED.
 */
export async function answerDevice(
  platform: Pick<Platform, 'audience' | 'config' | 'ledger' | 'owners' | 'redactedKeys' | 'stateOf'>,
  person: Person,
  { row, client, target }: DeviceRequest,
  answer: DeviceAnswer,
): Promise<boolean> {
  const { userId, actor, reauthorize } = approverOf(person);
  const allowed = answer.scopes.length > 0;
  const scope = allowed ? answer.scopes.join(' ') : row.scope;
  return platform.ledger.change({ ...actor, clientId: client.id }, async (change) => {
    await reauthorize(change);
    if (allowed) await assertMayConsent(platform, change.db, userId);
    if (allowed && !(await isStillThere(change.db, client.id))) return false;
    if (allowed && !(await isRegistered(platform, change.db, row.resource))) return false;
    const answered = await change.db
      .updateTable('oauth_device_requests')
      .set({ status: allowed ? 'allowed' : 'denied', user_id: userId, scope })
      .where('device_code_hash', '=', row.device_code_hash)
      .where('status', '=', 'pending')
      .where('expires_at', '>', change.now)
      .returning('device_code_hash')
      .executeTakeFirst();
    if (!answered) return false;
    const grantId = newId('grant', change.now);
    if (allowed) change.actAs({ ...change.actor, grantId });
    const agentId = allowed ? await bindAgent(platform, change, { client, target }, { ...answer, userId }) : undefined;
    if (agentId !== undefined) {
      await change.db
        .updateTable('oauth_device_requests')
        .set({ agent_id: agentId, grant_id: grantId })
        .where('device_code_hash', '=', row.device_code_hash)
        .execute();
      await change.db
        .updateTable('oauth_clients')
        .set({ last_used_at: change.now })
        .where('id', '=', client.id)
        .execute();
    }
    change.emit({
      type: 'device.answered',
      userId,
      ...(agentId === undefined ? {} : { agentId }),
      data: {
        clientId: client.id,
        answer: allowed ? 'allowed' : 'denied',
        ...(agentId === undefined ? {} : { agentId }),
        scope,
        resource: row.resource,
      },
    });
    return true;
  });
}

/** Returns whether an error of `answerDevice` concerns the choice of the agent. */
export const isAgentProblem = (error: unknown): error is LegateError =>
  error instanceof LegateError && (error.status === 422 || error.code === 'OAUTH_INVALID_REQUEST');
