import { z } from 'zod';
import type { Branded } from '../../kernel/branded.ts';
import { DEVICE_CODE, JWT_BEARER } from '../clients/client.ts';
import { OAuthErrors } from '../errors.ts';
import { formParameter } from '../form-parameter.ts';

/** Maximum body size of the token, revocation and introspection endpoints, in bytes. */
export const TOKEN_BODY_LIMIT = 65_536;

/** Accepts a secret of any form, so that a malformed one gets the same error as an unknown one. */
export const secretParameter = formParameter(TOKEN_BODY_LIMIT);

/** The parameters that authenticate a client (RFC 6749, section 2.3.1; RFC 7521, section 4.2). */
export const clientParameters = {
  client_id: formParameter(),
  client_secret: secretParameter,
  client_assertion: secretParameter,
  client_assertion_type: formParameter(200),
};

/** Body of the token endpoint for every grant type. Unknown parameters are ignored (RFC 6749, section 3.2). */
export const TokenForm = z
  .object({
    grant_type: formParameter(200),
    ...clientParameters,
    code: secretParameter,
    redirect_uri: formParameter(),
    code_verifier: formParameter(512),
    refresh_token: secretParameter,
    device_code: secretParameter,
    scope: formParameter(),
    resource: formParameter(),
    audience: formParameter(),
    subject_token: secretParameter,
    subject_token_type: formParameter(200),
    actor_token: secretParameter,
    actor_token_type: formParameter(200),
    requested_token_type: formParameter(200),
    assertion: secretParameter,
  })
  .meta({ id: 'TokenRequest' });
export type TokenForm = z.output<typeof TokenForm>;

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token';
/** An agent token, which is not a JWT (RFC 8693, section 3, allows custom types). */
export const AGENT_TOKEN_TYPE = 'urn:legate:token-type:agent_token';

/** An unverified code from a request. Only its hash is compared and stored. */
export type AuthorizationCode = Branded<string, 'AuthorizationCode'>;
/** A refresh token in plain text. Only its hash is compared and stored. */
export type RefreshToken = Branded<string, 'RefreshToken'>;

/** RFC 6749, section 4.1.3; RFC 7636, section 4.5. */
export interface CodeRequest {
  readonly grant_type: 'authorization_code';
  readonly code: AuthorizationCode;
  readonly code_verifier: string;
  /** Required if the authorization request stated it. */
  readonly redirect_uri: string | undefined;
  readonly resource: string | undefined;
}

/** RFC 6749, section 6. */
export interface RefreshRequest {
  readonly grant_type: 'refresh_token';
  readonly refresh_token: RefreshToken;
  readonly scope: string | undefined;
  readonly resource: string | undefined;
}

/** RFC 8628, section 3.4. */
export interface DeviceCodeRequest {
  readonly grant_type: typeof DEVICE_CODE;
  readonly device_code: string;
  readonly resource: string | undefined;
}

/** RFC 6749, section 4.4. */
export interface ClientCredentialsRequest {
  readonly grant_type: 'client_credentials';
  readonly scope: string | undefined;
  readonly resource: string | undefined;
}

/** RFC 8693, section 2.1. */
export interface ExchangeRequest {
  readonly grant_type: typeof TOKEN_EXCHANGE;
  /** An access token. */
  readonly subject_token: string;
  /** An agent token. */
  readonly actor_token: string;
  readonly scope: string | undefined;
  /** `resource` and `audience`, both of which name the target. */
  readonly targets: readonly string[];
}

/** RFC 7523, section 2.1. */
export interface JwtBearerRequest {
  readonly grant_type: typeof JWT_BEARER;
  /** A JWT of another issuer. */
  readonly assertion: string;
  /** Chooses one of several agents that trust a workload. */
  readonly agentId: string | undefined;
  readonly scope: string | undefined;
  readonly resource: string | undefined;
}

export type TokenRequest =
  | CodeRequest
  | RefreshRequest
  | DeviceCodeRequest
  | ClientCredentialsRequest
  | ExchangeRequest
  | JwtBearerRequest;

/** Throws OAUTH_INVALID_REQUEST if a parameter is missing, OAUTH_UNSUPPORTED_GRANT_TYPE for an unknown grant type. */
export function readTokenRequest(form: TokenForm): TokenRequest {
  const { scope, resource } = form;
  const grantType = required(form, 'grant_type');
  switch (grantType) {
    case 'authorization_code':
      return {
        grant_type: grantType,
        code: required(form, 'code') as AuthorizationCode,
        code_verifier: required(form, 'code_verifier'),
        redirect_uri: form.redirect_uri,
        resource,
      };
    case 'refresh_token':
      return {
        grant_type: grantType,
        refresh_token: required(form, 'refresh_token') as RefreshToken,
        scope,
        resource,
      };
    case DEVICE_CODE:
      return { grant_type: grantType, device_code: required(form, 'device_code'), resource };
    case 'client_credentials':
      return { grant_type: grantType, scope, resource };
    case JWT_BEARER: {
      const assertion = required(form, 'assertion');
      return { grant_type: grantType, assertion, agentId: form.client_id, scope, resource };
    }
    case TOKEN_EXCHANGE:
      return readExchangeRequest(form, grantType);
    default:
      throw OAuthErrors.OAUTH_UNSUPPORTED_GRANT_TYPE();
  }
}

function readExchangeRequest(form: TokenForm, grantType: typeof TOKEN_EXCHANGE): ExchangeRequest {
  const { subject_token, actor_token, actor_token_type, requested_token_type } = form;
  if (subject_token === undefined || form.subject_token_type !== ACCESS_TOKEN_TYPE)
    throw invalid(`subject_token and subject_token_type=${ACCESS_TOKEN_TYPE} are required.`);
  if (actor_token === undefined) throw invalid('actor_token, the agent token of the actor, is required.');
  if (actor_token_type !== undefined && actor_token_type !== AGENT_TOKEN_TYPE && actor_token_type !== ACCESS_TOKEN_TYPE)
    throw invalid(`actor_token_type must be ${AGENT_TOKEN_TYPE} or ${ACCESS_TOKEN_TYPE}.`);
  if (requested_token_type !== undefined && requested_token_type !== ACCESS_TOKEN_TYPE)
    throw invalid(`requested_token_type must be ${ACCESS_TOKEN_TYPE}.`);
  return {
    grant_type: grantType,
    subject_token,
    actor_token,
    scope: form.scope,
    targets: [form.resource, form.audience].filter((name) => name !== undefined),
  };
}

const invalid = (message: string) => OAuthErrors.OAUTH_INVALID_REQUEST({ message });

export const missingParameter = (name: keyof TokenForm) => invalid(`${name} is missing.`);

function required(form: TokenForm, name: keyof TokenForm): string {
  const value = form[name];
  if (value === undefined) throw missingParameter(name);
  return value;
}
