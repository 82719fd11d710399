import { z } from 'zod';
import type { UserPrincipal } from '../../access/principal.ts';
import { SCOPES } from '../../access/scopes.ts';
import { comesFrom } from '../../http/origin.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { text } from '../../kernel/json.ts';
import { shownSecret } from '../../kernel/secret-schema.ts';
import type { Platform } from '../../platform.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import { approverOf, type Person } from '../authorize/authorize.ts';
import { redirectHost } from '../clients/redirect-uri.ts';
import { OAuthErrors } from '../errors.ts';
import { approve, deny } from './consent.ts';
import { listAgentChoices } from './consent-agent.ts';
import { newConsentToken, readConsentToken } from './consent-form.ts';
import { isSensitive } from './scope-groups.ts';

/** The data of a custom consent page (contract 12.7). */
export const ConsentDetails = z
  .object({
    client: z.object({
      id: z.string(),
      name: z.string().nullable(),
      origin: z
        .enum(['self', 'admin', 'document'])
        .meta({ description: 'self: it registered itself, and nobody has verified its name.' }),
    }),
    redirectHost: z
      .string()
      .meta({ description: 'Host of the redirect URI. Show it, so that the person can check who gets access.' }),
    resource: z.string(),
    scopes: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        sensitive: z.boolean().meta({
          description: 'The scope lets the client change what agents may do. Highlight it, and let the person tick it.',
        }),
      }),
    ),
    agents: z.array(z.object({ id: z.string(), name: z.string() })),
    usualAgent: z.string().nullable().meta({ description: 'The agent that this client used before.' }),
    consentToken: shownSecret('Return it with the decision. Valid once, for this session and request, for an hour.'),
  })
  .meta({ id: 'ConsentDetails' });

export const ConsentDecision = z
  .strictObject({
    decision: z.enum(['allow', 'deny']),
    scopes: z
      .array(text(200))
      .max(50)
      .optional()
      .meta({ description: 'A subset of the requested scopes; by default all of them.' }),
    agent: text(64)
      .optional()
      .meta({ description: 'One of `agents`, or `new`. By default `usualAgent`, or else a new agent.' }),
    consentToken: text(300).meta({
      description:
        'The value from GET /oauth/consent. If it is sent again, the first response is returned until its code is ' +
        'used or expires.',
    }),
  })
  .meta({ id: 'ConsentDecisionRequest' });

export async function getConsentDetails(
  platform: Pick<Platform, 'clock' | 'database' | 'secrets'>,
  person: UserPrincipal,
  authRequest: AuthorizationRequest,
): Promise<z.output<typeof ConsentDetails>> {
  const { client, redirectUri, scopes, target } = authRequest;
  const { agents, usual } = await listAgentChoices(platform, person.userId, client.id);
  return {
    client: { id: client.id, name: client.name, origin: client.origin },
    redirectHost: redirectHost(redirectUri),
    resource: target.resource,
    scopes: scopes.map((name) => ({
      name,
      description: (SCOPES as Readonly<Record<string, string>>)[name] ?? name,
      sensitive: isSensitive(name),
    })),
    agents: agents.map(({ id, name }) => ({ id, name })),
    usualAgent: usual ?? null,
    consentToken: newConsentToken(platform, person, authRequest),
  };
}

/**
 * Returns the URL that the page has to redirect to. Throws 403 CONSENT_TOKEN_INVALID, OAUTH_ACCESS_DENIED, 409
 * CONSENT_ALREADY_GIVEN.
 */
export async function decideByApi(
  platform: Platform,
  person: Person,
  authRequest: AuthorizationRequest,
  input: z.output<typeof ConsentDecision>,
): Promise<string> {
  const form = readConsentToken(platform, person.principal, authRequest, input.consentToken);
  const by = { ...approverOf(person), form };
  if (input.decision === 'deny') return deny(platform, authRequest, by);
  const scopes = input.scopes ?? authRequest.scopes;
  if (scopes.length === 0 || scopes.some((s) => !authRequest.scopes.includes(s)))
    throw OAuthErrors.OAUTH_INVALID_SCOPE({ message: 'scopes must be a non-empty subset of the requested scopes.' });
  return approve(platform, authRequest, {
    ...by,
    scopes: authRequest.scopes.filter((s) => scopes.includes(s)),
    agent: input.agent,
  });
}

/**
 * Throws 403 FORBIDDEN if a browser sent the decision, with a cookie, from an origin other than that of this service or
 * of `mcp.consentPage`. Other trusted origins may use the API but not give consent.
 */
export function assertConsentOrigin({ baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>, request: Request): void {
  if (request.headers.has('authorization')) return;
  const own = new URL(baseUrl);
  const page = new URL(config.mcp.consentPage ?? '/', own);
  const fromBrowser = ['origin', 'sec-fetch-site', 'referer'].some((name) => request.headers.has(name));
  if (fromBrowser && !comesFrom(request, [own.origin, page.origin]))
    throw CommonErrors.FORBIDDEN({ message: 'Consent must be sent from the consent page.' });
}
