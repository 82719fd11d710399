import {
  actions,
  button,
  checkbox,
  errorSummary,
  facts,
  form,
  group,
  html,
  notice,
  type Problem,
  page,
  radios,
  signInLocation,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import { isLoopback } from '../clients/redirect-uri.ts';
import { agentsToChoose } from './consent.ts';

/** Field of the form for one scope. */
export const scopeField = (scope: string): string => `scope:${scope}`;

export interface Typed {
  readonly scopes: readonly string[];
  readonly agent: string;
}

/** Who the person is sent to, as they can judge it: the host, or the scheme of an application's own. */
export function redirectHost(uri: string): string {
  const url = new URL(uri);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.host : url.protocol;
}

/**
 * The consent page (contract 12.7): who asks, where the person is sent, each scope as a sentence with a choice of its own, the agent
 * that will act; allowing and denying weigh the same. It works without JavaScript, and its form goes to the address of the request.
 */
export async function consentPage(
  platform: Platform,
  request: Request,
  asked: AuthorizationRequest,
  person: { userId: string; email: string | null },
  problems: readonly Problem[] = [],
  typed?: Typed,
): Promise<Response> {
  const t = textsFor(request);
  const { client, redirectUri, scopes, target } = asked;
  const name = client.name ?? client.documentHost ?? t.consent.someone;
  const { agents, usual } = await agentsToChoose(platform, person.userId, client.id);
  const chosen = typed?.agent ?? usual ?? 'new';
  const ticked = new Set(typed?.scopes ?? scopes);
  return page(platform, request, {
    title: t.consent.title(name),
    failed: problems.length > 0,
    status: problems.length > 0 ? 400 : 200,
    formTargets: [redirectUri],
    body: html`${errorSummary(t, problems)}${
      client.origin === 'document'
        ? notice('info', t.consent.document(client.documentHost ?? ''))
        : client.origin === 'self'
          ? notice('warning', t.consent.selfRegistered)
          : undefined
    }${facts([
      [
        t.consent.sentTo,
        html`<strong>${redirectHost(redirectUri)}</strong>${isLoopback(redirectUri) ? html` (${t.consent.thisComputer})` : undefined}`,
      ],
      [t.consent.resource, target.server ?? target.resource],
    ])}${form(
      new URL(request.url),
      html`${group(
        t.consent.wants(name),
        scopes.map((scope) =>
          checkbox({
            name: scopeField(scope),
            label: t.scopes[scope] ?? t.consent.otherScope(scope),
            checked: ticked.has(scope),
          }),
        ),
      )}${radios(t.consent.agents, 'agent', [
        ...agents.map((a) => ({
          value: a.id,
          label: a.name,
          checked: chosen === a.id,
          ...(a.id === usual ? { hint: t.consent.usual } : {}),
        })),
        { value: 'new', label: t.consent.newAgent(name), checked: chosen === 'new' },
      ])}<p class="quiet">${t.consent.agentsHint} ${t.consent.endLater}</p>${actions(
        button({ label: t.consent.deny, kind: 'secondary', name: 'decision', value: 'deny' }),
        button({ label: t.consent.allow, kind: 'secondary', name: 'decision', value: 'allow' }),
      )}`,
    )}<p class="quiet">${t.common.signedInAs(person.email ?? person.userId)}. <a href="${signInLocation(platform, new URL(request.url))}">${t.common.notYou}</a></p>`,
  });
}
