import type { UserPrincipal } from '../../access/principal.ts';
import { findTools } from '../../mcp/servers/index.ts';
import {
  button,
  details,
  errorSummary,
  facts,
  form,
  html,
  type Problem,
  page,
  signInLocation,
  stickyActions,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import { isLoopback, redirectHost } from '../clients/redirect-uri.ts';
import {
  AGENT_FIELD,
  agentChoice,
  clientName,
  clientNotice,
  consentTitle,
  type FormInput,
  scopeChoices,
} from './consent-fields.ts';
import { CONSENT_TOKEN, newConsentToken } from './consent-form.ts';

const MAX_TOOLS_SHOWN = 30;

/**
 * The consent page (contract 12.7). Shows the client, the redirect host, a checkbox with a sentence for each scope, and
 * the agent that will act. Allow and deny look the same. Works without JavaScript; the form posts to the URL of the
 * request.
 */
export async function consentPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database' | 'secrets'>,
  request: Request,
  authRequest: AuthorizationRequest,
  person: { principal: UserPrincipal; email: string | null },
  problems: readonly Problem[] = [],
  typed?: FormInput,
): Promise<Response> {
  const t = textsFor(request);
  const { client, redirectUri, scopes, target } = authRequest;
  const { principal, email } = person;
  const name = clientName(t, client);
  const host = redirectHost(redirectUri);
  const place = isLoopback(redirectUri) ? t.consent.thisComputer : host.endsWith(':') && t.consent.thisDevice;
  const signInHref = signInLocation(platform, new URL(request.url));
  const problemWithAgent = problems.some(({ field }) => field === AGENT_FIELD);
  return page(platform, request, {
    title: consentTitle(t, client),
    failed: problems.length > 0,
    status: problems.length > 0 ? 400 : 200,
    formTargets: [redirectUri],
    body: html`${errorSummary(t, problems)}${clientNotice(t, client)}<div class="columns">${facts([
      [t.consent.resource, target.server ?? hostOf(target.resource)],
      [t.consent.sentTo, html`<strong>${host}</strong>${place && html` (${place})`}`],
    ])}</div>${form(
      new URL(request.url),
      html`<p>${t.consent.wants(name)}</p>${scopeChoices(t, scopes, typed?.scopes)}${await agentChoice(
        platform,
        t,
        principal.userId,
        client,
        typed?.agent,
        problemWithAgent,
      )}${details(
        t.consent.technical,
        facts(await technicalFacts(platform, t, authRequest)),
      )}<p class="quiet">${t.consent.endLater}</p>${stickyActions(
        button({ label: t.consent.deny, kind: 'secondary', name: 'decision', value: 'deny' }),
        button({ label: t.consent.allow, kind: 'secondary', name: 'decision', value: 'allow' }),
      )}`,
      { [CONSENT_TOKEN]: newConsentToken(platform, principal, authRequest) },
    )}<p class="quiet">${t.common.signedInAs(email ?? principal.userId)}. <a
      href="${signInHref}">${t.common.notYou}</a></p>`,
  });
}

const hostOf = (resource: string): string => new URL(resource).host || resource;

/** Details for developers: scope names, tools, URLs. */
async function technicalFacts(
  { database }: Pick<Platform, 'database'>,
  t: Texts,
  { client, scopes, target, redirectUri }: AuthorizationRequest,
) {
  const prefix = `mcp:${target.server}:`;
  const tools =
    target.server === undefined ? [] : (await findTools(database.read)).filter((tool) => tool.startsWith(prefix));
  const shown = tools.slice(0, MAX_TOOLS_SHOWN).map((tool) => tool.slice(prefix.length));
  const hidden = tools.length - shown.length;
  return [
    [t.consent.scopeNames, html`<code>${scopes.join(' ')}</code>`] as const,
    ...(shown.length === 0
      ? []
      : [
          [
            t.consent.tools,
            html`<code>${shown.join(', ')}</code>${hidden > 0 ? ` ${t.consent.more(hidden)}` : undefined}`,
          ] as const,
        ]),
    [t.consent.resourceAddress, html`<code>${target.resource}</code>`] as const,
    [t.consent.redirectAddress, html`<code>${redirectUri}</code>`] as const,
    [t.consent.clientId, html`<code>${client.id}</code>`] as const,
  ];
}
