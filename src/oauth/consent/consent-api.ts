import { z } from 'zod';
import { SCOPES } from '../../access/scopes.ts';
import { text } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { type AuthorizationRequest, answerLocation } from '../authorize/authorization-request.ts';
import { OAuthErrors } from '../errors.ts';
import { agentsToChoose, approve } from './consent.ts';
import { redirectHost } from './consent-page.ts';

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
    scopes: z.array(z.object({ name: z.string(), description: z.string() })),
    agents: z.array(z.object({ id: z.string(), name: z.string() })),
    usualAgent: z.string().nullable(),
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
    agent: text(64).default('new').meta({ description: 'One of `agents`, or `new`.' }),
  })
  .meta({ id: 'ConsentDecisionRequest' });

export async function consentDetails(
  platform: Platform,
  userId: string,
  asked: AuthorizationRequest,
): Promise<z.output<typeof ConsentDetails>> {
  const { client, redirectUri, scopes, target } = asked;
  const { agents, usual } = await agentsToChoose(platform, userId, client.id);
  return {
    client: { id: client.id, name: client.name, origin: client.origin },
    redirectHost: redirectHost(redirectUri),
    resource: target.resource,
    scopes: scopes.map((name) => ({ name, description: (SCOPES as Readonly<Record<string, string>>)[name] ?? name })),
    agents: agents.map(({ id, name }) => ({ id, name })),
    usualAgent: usual ?? null,
  };
}

/** Gives the address that the page has to send the browser to. */
export async function decideByApi(
  platform: Platform,
  by: { userId: string; reauthorize: (db: Db) => Promise<unknown> },
  asked: AuthorizationRequest,
  input: z.output<typeof ConsentDecision>,
): Promise<string> {
  if (input.decision === 'deny') return answerLocation(platform, asked, { error: 'access_denied' });
  const scopes = input.scopes ?? asked.scopes;
  if (scopes.length === 0 || scopes.some((s) => !asked.scopes.includes(s)))
    throw OAuthErrors.OAUTH_INVALID_SCOPE({ message: 'scopes: at least one, and none beyond those asked for.' });
  return approve(platform, asked, {
    ...by,
    scopes: asked.scopes.filter((s) => scopes.includes(s)),
    agent: input.agent,
  });
}
