import { z } from 'zod';
import type { UserPrincipal } from '../../access/principal.ts';
import { SCOPES } from '../../access/scopes.ts';
import { comesFrom } from '../../http/origin.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { text } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import { approvalBy, type Person } from '../authorize/authorize.ts';
import { redirectHost } from '../clients/redirect-uri.ts';
import { OAuthErrors } from '../errors.ts';
import { approve, deny } from './consent.ts';
import { agentsToChoose, NEW_AGENT, usualAgent } from './consent-agent.ts';
import { newConsentToken, readConsentToken } from './consent-form.ts';
import { isSensitive } from './scope-groups.ts';

/** What a consent page of the operator's own needs to show (contract 12.7). */
export const ConsentDetails = z
  .object({
    client: z.object({
      id: z.string(),
      name: z.string().nullable(),
      origin: z
        .enum(['self', 'admin', 'document'])
        .meta({ description: 'self: it registered itself; nobody has checked who is behind its name.' }),
    }),
    redirectHost: z.string().meta({ description: 'To be shown, and to be judged by.' }),
    resource: z.string(),
    scopes: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        sensitive: z.boolean().meta({
          description:
            'It lets the client change what agents may do: mark it, and leave it unticked until it is chosen.',
        }),
      }),
    ),
    agents: z.array(z.object({ id: z.string(), name: z.string() })),
    usualAgent: z.string().nullable().meta({ description: 'The one that acted with this client before.' }),
    consentToken: z.string().meta({
      description: 'Goes back with the decision. For this session and this request, once, within an hour.',
    }),
  })
  .meta({ id: 'ConsentDetails' });

export const ConsentDecision = z
  .strictObject({
    decision: z.enum(['allow', 'deny']),
    scopes: z
      .array(text(200))
      .max(50)
      .optional()
      .meta({ description: 'Of those asked for; all of them when left out.' }),
    agent: text(64)
      .optional()
      .meta({ description: 'One of `agents`, or `new`. Left out: `usualAgent`, or a new one.' }),
    consentToken: text(300).meta({
      description:
        'As GET /oauth/consent returned it. Sent again, it returns the first answer until the code in it is used or expires.',
    }),
  })
  .meta({ id: 'ConsentDecisionRequest' });

export async function consentDetails(
  platform: Platform,
  person: UserPrincipal,
  asked: AuthorizationRequest,
): Promise<z.output<typeof ConsentDetails>> {
  const { client, redirectUri, scopes, target } = asked;
  const { agents, usual } = await agentsToChoose(platform, person.userId, client.id);
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
    consentToken: newConsentToken(platform, person, asked),
  };
}

/** Returns the address that the page has to send the browser to. Throws 403 CONSENT_TOKEN_INVALID, 409 CONSENT_ALREADY_GIVEN. */
export async function decideByApi(
  platform: Platform,
  person: Person,
  asked: AuthorizationRequest,
  input: z.output<typeof ConsentDecision>,
): Promise<string> {
  const form = readConsentToken(platform, person.principal, asked, input.consentToken);
  const by = { ...approvalBy(platform, person), form };
  if (input.decision === 'deny') return deny(platform, asked, by);
  const scopes = input.scopes ?? asked.scopes;
  if (scopes.length === 0 || scopes.some((s) => !asked.scopes.includes(s)))
    throw OAuthErrors.OAUTH_INVALID_SCOPE({ message: 'scopes: at least one, and none beyond those asked for.' });
  return approve(platform, asked, {
    ...by,
    scopes: asked.scopes.filter((s) => scopes.includes(s)),
    agent: input.agent ?? (await usualAgent(platform, by.userId, asked.client.id))?.id ?? NEW_AGENT,
  });
}

/**
 * Throws 403 FORBIDDEN for a decision that a browser sent with a cookie from a page other than our own or that of
 * `mcp.consentPage`. Other trusted origins may use the API, but not consent in a person's name.
 */
export function assertConsentOrigin(platform: Platform, request: Request): void {
  if (request.headers.has('authorization')) return;
  const own = new URL(platform.baseUrl);
  const page = new URL(platform.config.mcp.consentPage ?? '/', own);
  const named = ['origin', 'sec-fetch-site', 'referer'].some((name) => request.headers.has(name));
  if (named && !comesFrom(request, [own.origin, page.origin]))
    throw CommonErrors.FORBIDDEN({ message: 'Consent is taken from the consent page only.' });
}
