import { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { LegateError } from '../../kernel/errors.ts';
import { shownSecret } from '../../kernel/secret-schema.ts';
import { readUnverified } from '../../people/federation/index.ts';
import type { Platform } from '../../platform.ts';
import {
  authenticateClient,
  authenticateHolder,
  type ClientCredentials,
  hasClientCredentials,
  invalidClient,
  MAX_LOGGED_CHARS,
  provesIdentity,
  readClientCredentials,
} from '../clients/authenticate-client.ts';
import { type Client, DEVICE_CODE, JWT_BEARER } from '../clients/client.ts';
import { OAuthErrors } from '../errors.ts';
import { clientCredentialsGrant } from './grants/client-credentials.ts';
import { exchangeDeviceCode } from './grants/device-code.ts';
import { exchangeCode } from './grants/exchange-code.ts';
import { ID_JAG_TYPE, idJagGrant } from './grants/id-jag.ts';
import { jwtBearerGrant } from './grants/jwt-bearer.ts';
import { refresh } from './grants/refresh.ts';
import { exchangeToken } from './grants/token-exchange.ts';
import type { TokenResponse } from './issue-tokens.ts';
import { readTokenRequest, TOKEN_EXCHANGE, type TokenForm, type TokenRequest } from './token-request.ts';

export const TokenResponseSchema = z
  .object({
    access_token: shownSecret(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().meta({ description: 'Seconds.' }),
    refresh_token: shownSecret().optional(),
    scope: z.string(),
    issued_token_type: z.string().optional(),
  })
  .meta({ id: 'TokenResponse' });

/**
 * The token endpoint (RFC 6749, section 3.2). Checks the form, then the client, then the grant.
 *
 * @param header Authorization of the request
 * @param from the actor of the request before authentication
 */
export async function token(
  platform: Platform,
  header: string | null,
  form: TokenForm,
  from: Actor,
): Promise<TokenResponse> {
  const request = readTokenRequest(form);
  let clientId = form.client_id;
  const credentials = (): ClientCredentials => {
    const read = readClientCredentials(header, form, 'token');
    clientId = read.id;
    return read;
  };
  try {
    switch (request.grant_type) {
      case 'authorization_code':
        return await exchangeCode(platform, await authenticateFor(platform, credentials(), request), request, from);
      case 'refresh_token':
        return await refresh(platform, await authenticateFor(platform, credentials(), request), request, from);
      case DEVICE_CODE:
        return await exchangeDeviceCode(
          platform,
          await authenticateFor(platform, credentials(), request),
          request,
          from,
        );
      case 'client_credentials':
        return await clientCredentialsGrant(platform, credentials(), request, from);
      case JWT_BEARER: {
        const assertion = readUnverified(request.assertion);
        if (assertion?.typ === ID_JAG_TYPE) {
          const client = await authenticateConfidential(platform, credentials(), request);
          return await idJagGrant(platform, client, assertion, request, from);
        }
        // The assertion authenticates the workload. Credentials of a client or agent are optional, but must be valid if
        // sent.
        if (provesIdentity(header, form)) await authenticateHolder(platform, credentials());
        return await jwtBearerGrant(platform, assertion, request, from);
      }
      case TOKEN_EXCHANGE:
        // The actor token authenticates the actor; a client or agent that names itself must authenticate too.
        if (hasClientCredentials(header, form)) await authenticateHolder(platform, credentials());
        return await exchangeToken(platform, request, from);
    }
  } catch (error) {
    throw error instanceof LegateError
      ? error.inContext({
          grantType: request.grant_type,
          clientId: clientId?.slice(0, MAX_LOGGED_CHARS),
          ...error.context,
        })
      : error;
  }
}

/** Throws OAUTH_INVALID_CLIENT, or OAUTH_UNAUTHORIZED_CLIENT if the client may not use the grant type. */
export async function authenticateFor(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log' | 'stateOf'>,
  by: ClientCredentials,
  { grant_type }: Pick<TokenRequest, 'grant_type'>,
): Promise<Client> {
  const { client } = await authenticateClient(platform, by);
  assertMayUse(client, grant_type);
  return client;
}

/** Like `authenticateFor`, for a grant without a person: the client must authenticate with a secret or a key. */
async function authenticateConfidential(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log' | 'stateOf'>,
  by: ClientCredentials,
  { grant_type }: Pick<TokenRequest, 'grant_type'>,
): Promise<Client> {
  const { client, confidential } = await authenticateClient(platform, by);
  if (!confidential) throw invalidClient(by, 'client-not-confidential');
  assertMayUse(client, grant_type);
  return client;
}

function assertMayUse(client: Client, grantType: TokenRequest['grant_type']): void {
  if (!client.grantTypes.includes(grantType))
    throw OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT({ reason: 'client-grant-type' });
}
