import { z } from 'zod';
import type { Platform } from '../../platform.ts';
import { authenticateClient, authenticateHolder, clientCredentials, refused } from '../clients/authenticate-client.ts';
import { OAuthErrors } from '../errors.ts';
import { formParameter } from '../form-parameter.ts';
import { clientCredentialsGrant } from './grants/client-credentials.ts';
import { exchangeCode } from './grants/exchange-code.ts';
import { refresh } from './grants/refresh.ts';
import { exchangeToken } from './grants/token-exchange.ts';
import type { TokenResponse } from './issue-tokens.ts';

/** Body of the token endpoint, of whatever grant type. Unknown parameters are ignored (RFC 6749, section 3.2). */
export const TokenRequest = z
  .object({
    grant_type: formParameter(200),
    client_id: formParameter(),
    client_secret: formParameter(512),
    code: formParameter(512),
    redirect_uri: formParameter(),
    code_verifier: formParameter(512),
    refresh_token: formParameter(512),
    scope: formParameter(),
    resource: formParameter(),
    audience: formParameter(),
    subject_token: formParameter(8192),
    subject_token_type: formParameter(200),
    actor_token: formParameter(8192),
    actor_token_type: formParameter(200),
    requested_token_type: formParameter(200),
  })
  .meta({ id: 'TokenRequest' });
export type TokenRequest = z.output<typeof TokenRequest>;

export const TokenAnswer = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().meta({ description: 'Seconds.' }),
    refresh_token: z.string().optional(),
    scope: z.string(),
    issued_token_type: z.string().optional(),
  })
  .meta({ id: 'TokenResponse' });

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The token endpoint (RFC 6749, section 3.2): the client first, then the grant. */
export async function token(platform: Platform, request: Request, body: TokenRequest): Promise<TokenResponse> {
  if (body.grant_type === undefined) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'grant_type is missing.' });
  const by = clientCredentialsOf(request, body);
  switch (body.grant_type) {
    case 'authorization_code':
    case 'refresh_token': {
      if (!by) throw refused(false);
      const { client } = await authenticateClient(platform, by);
      if (!client.grantTypes.includes(body.grant_type)) throw OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT();
      return body.grant_type === 'refresh_token'
        ? refresh(platform, client, body)
        : exchangeCode(platform, client, body);
    }
    case 'client_credentials':
      if (!by) throw refused(false);
      return clientCredentialsGrant(platform, by, body);
    case EXCHANGE:
      // The actor proves itself with its own token; a client or agent that names itself has to prove itself as well.
      if (by) await authenticateHolder(platform, by);
      return exchangeToken(platform, body);
    default:
      throw OAuthErrors.OAUTH_UNSUPPORTED_GRANT_TYPE();
  }
}

const clientCredentialsOf = (request: Request, body: TokenRequest) =>
  body.client_id === undefined &&
  body.client_secret === undefined &&
  !/^basic /i.test(request.headers.get('authorization') ?? '')
    ? undefined
    : clientCredentials(request, body);
