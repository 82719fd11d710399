import { z } from 'zod';
import { MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import { pathOf } from '../../pages/index.ts';
import type { Call, Platform } from '../../platform.ts';
import { readClientCredentials } from '../clients/authenticate-client.ts';
import { DEVICE_CODE } from '../clients/client.ts';
import { formParameter } from '../form-parameter.ts';
import { getTarget } from '../resource.ts';
import { requestedScopes } from '../scope.ts';
import { authenticateFor } from '../token/token.ts';
import { clientParameters } from '../token/token-request.ts';
import { displayUserCode, newUserCode, userCodeHash } from './user-code.ts';

/** Path of the page where people enter the code. */
export const DEVICE_PATH = '/device';
/** Lifetime of both codes (contract 23.6). */
const REQUEST_TTL_MS = 10 * MINUTE_MS;
/** Initial number of seconds that a device waits between two requests. */
const POLL_SECONDS = 5;
const MAX_PROGRAM_CHARS = 200;

/** RFC 8628, section 3.1; RFC 8707 for `resource`. Unknown parameters are ignored. */
export const DeviceAuthorizationForm = z
  .object({
    ...clientParameters,
    scope: formParameter(),
    resource: formParameter(),
  })
  .meta({ id: 'DeviceAuthorizationRequest' });

/** RFC 8628, section 3.2. */
export const DeviceAuthorization = z
  .object({
    device_code: z.string(),
    user_code: z.string(),
    verification_uri: z.string(),
    verification_uri_complete: z.string(),
    expires_in: z.int().meta({ description: 'Seconds.' }),
    interval: z.int().meta({ description: 'Seconds to wait between two requests at the token endpoint.' }),
  })
  .meta({ id: 'DeviceAuthorization' });

export type DeviceCall = Call<undefined, undefined, z.output<typeof DeviceAuthorizationForm>>;

/**
 * The device authorization endpoint. Clients authenticate as at the token endpoint, and need the grant type in their
 * registration. Throws OAUTH_INVALID_CLIENT, OAUTH_UNAUTHORIZED_CLIENT, OAUTH_INVALID_SCOPE or OAUTH_INVALID_TARGET.
 */
export async function authorizeDevice(
  platform: Platform,
  call: DeviceCall,
): Promise<z.output<typeof DeviceAuthorization>> {
  const { body, actor, ip, userAgent } = call;
  const credentials = readClientCredentials(call.header('authorization'), body, 'device_authorization');
  const client = await authenticateFor(platform, credentials, { grant_type: DEVICE_CODE });
  const scopes = requestedScopes(platform, body.scope, client);
  const target = await getTarget(platform, body.resource);
  const deviceCode = newSecret('deviceCode');
  const userCode = await platform.ledger.changeTogether({ ...actor, clientId: client.id }, async ({ db, now }) => {
    for (;;) {
      const code = newUserCode();
      const inserted = await db
        .insertInto('oauth_device_requests')
        .values({
          device_code_hash: secretHash(deviceCode),
          user_code_hash: userCodeHash(platform, code),
          client_id: client.id,
          scope: scopes.join(' '),
          resource: target.resource,
          ip: platform.config.multiSession.trackIp ? ip : null,
          program: userAgent?.slice(0, MAX_PROGRAM_CHARS) ?? null,
          status: 'pending',
          user_id: null,
          agent_id: null,
          poll_seconds: POLL_SECONDS,
          polled_at: null,
          created_at: now,
          expires_at: now + REQUEST_TTL_MS,
        })
        .onConflict((oc) => oc.column('user_code_hash').doNothing())
        .returning('user_code_hash')
        .executeTakeFirst();
      if (inserted) return displayUserCode(code);
    }
  });
  const page = new URL(pathOf(platform, DEVICE_PATH), platform.baseUrl).href;
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${userCode}`,
    expires_in: REQUEST_TTL_MS / SECOND_MS,
    interval: POLL_SECONDS,
  };
}
