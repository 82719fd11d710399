import { z } from 'zod';
import { defineState, type Platform } from '../../platform.ts';
import { AUTH_METHODS, GRANT_TYPES } from '../clients/client.ts';
import { CLIENT_ALGORITHMS } from '../clients/client-keys.ts';
import { knownScopes } from '../scope.ts';
import { keyRing } from '../tokens/keys.ts';

/** Path prefix of RFC 8414, section 3. */
export const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server';

/** Identifier of MCP's enterprise-managed authorization. */
const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';

/**
 * OAuth 2.0 Authorization Server Metadata (RFC 8414, section 2; RFC 8628, section 4; RFC 9207; client ID metadata
 * documents).
 */
export const ServerMetadata = z
  .object({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    device_authorization_endpoint: z.string(),
    registration_endpoint: z.string().optional(),
    revocation_endpoint: z.string(),
    introspection_endpoint: z.string(),
    jwks_uri: z.string().optional(),
    scopes_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    response_modes_supported: z.array(z.string()),
    grant_types_supported: z.array(z.string()),
    authorization_grant_profiles_supported: z.array(z.string()),
    code_challenge_methods_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    token_endpoint_auth_signing_alg_values_supported: z.array(z.string()),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint_auth_signing_alg_values_supported: z.array(z.string()),
    introspection_endpoint_auth_methods_supported: z.array(z.string()),
    introspection_endpoint_auth_signing_alg_values_supported: z.array(z.string()),
    authorization_response_iss_parameter_supported: z.boolean(),
    client_id_metadata_document_supported: z.boolean(),
    service_documentation: z.string(),
    ui_locales_supported: z.array(z.string()),
  })
  .meta({ id: 'AuthorizationServerMetadata' });

/** Address of an endpoint of the authorization server. */
const endpoint = ({ baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>, name: string): string =>
  `${baseUrl}${config.http.basePath.replace(/\/$/, '')}/oauth/${name}`;

/** An endpoint at which clients authenticate. */
export type ClientEndpoint = 'token' | 'revoke' | 'introspect' | 'device_authorization';

/**
 * Audiences of assertions at each endpoint (RFC 7523, section 3): the issuer, the token endpoint, and the endpoint
 * itself, by each of their addresses.
 */
export const assertionAudiences = defineState(
  ({ baseUrl, config, issuer }): Readonly<Record<ClientEndpoint, readonly string[]>> => {
    const [base, rest] = [config.http.basePath, config.http.restPath].map((path) => path.replace(/\/$/, ''));
    const addresses = (name: ClientEndpoint): string[] =>
      [base, rest].flatMap((mount) => [`${baseUrl}${mount}/oauth/${name}`, `${baseUrl}${mount}/mcp/${name}`]);
    const everywhere = [issuer, ...addresses('token'), `${baseUrl}${rest}/token`];
    return {
      token: everywhere,
      revoke: [...everywhere, ...addresses('revoke')],
      introspect: [...everywhere, ...addresses('introspect')],
      device_authorization: [...everywhere, ...addresses('device_authorization')],
    };
  },
);

/** `issuer` equals the configured one byte for byte, because clients compare it. */
export function serverMetadata(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'issuer' | 'secrets' | 'stateOf'>,
): z.output<typeof ServerMetadata> {
  const { config, baseUrl } = platform;
  const at = (name: string): string => endpoint(platform, name);
  return {
    issuer: platform.issuer,
    authorization_endpoint: at('authorize'),
    token_endpoint: at('token'),
    device_authorization_endpoint: at('device_authorization'),
    ...(config.mcp.registration === 'closed' ? {} : { registration_endpoint: at('register') }),
    revocation_endpoint: at('revoke'),
    introspection_endpoint: at('introspect'),
    ...(keyRing(platform).current.jwk ? { jwks_uri: at('jwks') } : {}),
    scopes_supported: [...knownScopes(platform)],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [...GRANT_TYPES],
    authorization_grant_profiles_supported: [ID_JAG_PROFILE],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...AUTH_METHODS],
    token_endpoint_auth_signing_alg_values_supported: [...CLIENT_ALGORITHMS],
    revocation_endpoint_auth_methods_supported: [...AUTH_METHODS],
    revocation_endpoint_auth_signing_alg_values_supported: [...CLIENT_ALGORITHMS],
    introspection_endpoint_auth_methods_supported: AUTH_METHODS.filter((method) => method !== 'none'),
    introspection_endpoint_auth_signing_alg_values_supported: [...CLIENT_ALGORITHMS],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: config.mcp.clientMetadataDocuments,
    service_documentation: `${baseUrl}${config.http.restPath.replace(/\/$/, '')}/docs`,
    ui_locales_supported: ['en', 'de'],
  };
}
