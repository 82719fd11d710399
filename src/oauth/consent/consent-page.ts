import type { UserPrincipal } from '../../access/principal.ts';
import { findTools } from '../../mcp/servers/index.ts';
import {
  badge,
  button,
  checkbox,
  details,
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
  stickyActions,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import type { Client } from '../clients/client.ts';
import { isLoopback, redirectHost } from '../clients/redirect-uri.ts';
import { listAgentChoices, NEW_AGENT } from './consent-agent.ts';
import { CONSENT_TOKEN, newConsentToken } from './consent-form.ts';
import { groupScopes, isSensitive } from './scope-groups.ts';

const MAX_TOOLS_SHOWN = 30;
const AGENT_FIELD = 'agent-0';

/** Name of the form field of a scope. */
export const scopeField = (scope: string): string => `scope:${scope}`;

export interface FormInput {
  readonly scopes: readonly string[];
  readonly agent: string;
}

/**
 * The consent page (contract 12.7). Shows the client, the redirect host, a checkbox with a sentence for each scope, and
 * the agent that will act. Allow and deny look the same. Works without JavaScript; the form posts to the URL of the
 * request.
 */
export async function consentPage(
  platform: Platform,
  request: Request,
  authRequest: AuthorizationRequest,
  person: { principal: UserPrincipal; email: string | null },
  problems: readonly Problem[] = [],
  typed?: FormInput,
): Promise<Response> {
  const t = textsFor(request);
  const { client, redirectUri, scopes, target } = authRequest;
  const { principal, email } = person;
  const name = client.name ?? client.documentHost ?? t.consent.someone;
  const ticked = new Set(typed?.scopes ?? scopes.filter((scope) => !isSensitive(scope)));
  const thisComputer = isLoopback(redirectUri) ? html` (${t.consent.thisComputer})` : undefined;
  const signInHref = signInLocation(platform, new URL(request.url));
  const problemWithAgent = problems.some(({ field }) => field === AGENT_FIELD);
  return page(platform, request, {
    title: t.consent.title(name),
    failed: problems.length > 0,
    status: problems.length > 0 ? 400 : 200,
    formTargets: [redirectUri],
    body: html`${errorSummary(t, problems)}${clientNotice(t, client)}<div class="columns">${facts([
      [t.consent.resource, target.server ?? hostOf(target.resource)],
      [t.consent.sentTo, html`<strong>${redirectHost(redirectUri)}</strong>${thisComputer}`],
    ])}</div>${form(
      new URL(request.url),
      html`<p>${t.consent.wants(name)}</p>${groupScopes(scopes).map((part) =>
        group(
          t.consent.groups[part.group],
          part.scopes.map((scope) => scopeChoice(t, scope, ticked.has(scope))),
        ),
      )}${await agentChoice(platform, t, principal.userId, authRequest, name, typed?.agent, problemWithAgent)}${details(
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

function clientNotice(t: Texts, client: Client) {
  if (client.origin === 'document') return notice('info', t.consent.document(client.documentHost ?? ''));
  return client.origin === 'self' ? notice('warning', t.consent.selfRegistered) : undefined;
}

function scopeChoice(t: Texts, scope: string, checked: boolean) {
  const label = t.scopes[scope] ?? t.consent.otherScope(scope);
  const meaning = t.consent.meanings[scope];
  return checkbox({
    name: scopeField(scope),
    label: isSensitive(scope) ? html`${label} ${badge('warning', t.consent.sensitive)}` : label,
    checked,
    ...(meaning === undefined ? {} : { hint: meaning }),
  });
}

/** Preselects the agent that this client used before. Collapsed unless the choice has an error. */
async function agentChoice(
  platform: Platform,
  t: Texts,
  userId: string,
  { client }: AuthorizationRequest,
  name: string,
  typed: string | undefined,
  open: boolean,
) {
  const { agents, usual } = await listAgentChoices(platform, userId, client.id);
  const chosen = typed ?? usual ?? NEW_AGENT;
  const named = agents.find((a) => a.id === chosen)?.name;
  const options = agents.map((a) => ({
    value: a.id,
    label: a.name,
    checked: chosen === a.id,
    ...(a.id === usual ? { hint: t.consent.usual } : {}),
  }));
  return details(
    named === undefined ? t.consent.actsAsNew : t.consent.actsAs(named),
    html`<p class="quiet">${t.consent.agentsHint}</p>${radios(t.consent.agents, 'agent', [
      ...options,
      { value: NEW_AGENT, label: t.consent.newAgent(name), checked: chosen === NEW_AGENT },
    ])}`,
    open,
  );
}

/** Facts for developers: scope names, tools, URLs. */
async function technicalFacts(
  platform: Platform,
  t: Texts,
  { client, scopes, target, redirectUri }: AuthorizationRequest,
) {
  const prefix = `mcp:${target.server}:`;
  const tools =
    target.server === undefined
      ? []
      : (await findTools(platform.database.read)).filter((tool) => tool.startsWith(prefix));
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
