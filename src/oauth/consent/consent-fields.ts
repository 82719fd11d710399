import type { Id } from '../../kernel/ids.ts';
import { badge, checkbox, details, group, html, notice, radios, type Texts } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { Client } from '../clients/client.ts';
import { listAgentChoices, NEW_AGENT } from './consent-agent.ts';
import { groupScopes, isSensitive } from './scope-groups.ts';

/** Field with which problems of the choice of an agent are reported. */
export const AGENT_FIELD = 'agent-0';

/** Name of the form field of a scope. */
export const scopeField = (scope: string): string => `scope:${scope}`;

export interface FormInput {
  readonly scopes: readonly string[];
  readonly agent: string;
}

/** Returns the name of a client as the pages show it. */
export const clientName = (t: Texts, client: Client): string => client.name ?? client.documentHost ?? t.consent.someone;

/** Returns the question whether a client may act for the person. */
export const consentTitle = (t: Texts, client: Client): string => {
  const name = client.name ?? client.documentHost;
  return name == null ? t.consent.titleNameless : t.consent.title(name);
};

export function clientNotice(t: Texts, client: Client) {
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

/**
 * A checkbox with a sentence for each scope, in groups. Sensitive scopes are unticked unless the person ticked them.
 */
export function scopeChoices(t: Texts, scopes: readonly string[], ticked?: readonly string[]) {
  const checked = new Set(ticked ?? scopes.filter((scope) => !isSensitive(scope)));
  return groupScopes(scopes).map((part) =>
    group(
      t.consent.groups[part.group],
      part.scopes.map((scope) => scopeChoice(t, scope, checked.has(scope))),
    ),
  );
}

/** Preselects the agent that this client used before. Collapsed unless the choice has an error. */
export async function agentChoice(
  platform: Pick<Platform, 'clock' | 'database'>,
  t: Texts,
  userId: Id<'user'>,
  client: Client,
  typed: string | undefined,
  open: boolean,
) {
  const { agents, usual } = await listAgentChoices(platform, userId, client.id);
  const chosen = typed ?? usual ?? NEW_AGENT;
  const named = agents.find((a) => a.id === chosen)?.name;
  const options = agents.map((a) => {
    const isAmbiguous = agents.some(({ id, name }) => id !== a.id && name === a.name);
    const hints = [...(a.id === usual ? [t.consent.usual] : []), ...(isAmbiguous ? [a.id] : [])];
    return {
      value: a.id,
      label: a.name,
      checked: chosen === a.id,
      ...(hints.length > 0 ? { hint: hints.join(' · ') } : {}),
    };
  });
  return details(
    named === undefined ? t.consent.actsAsNew : t.consent.actsAs(named),
    html`<p class="quiet">${t.consent.agentsHint}</p>${radios(t.consent.agents, 'agent', [
      ...options,
      { value: NEW_AGENT, label: t.consent.newAgent(clientName(t, client)), checked: chosen === NEW_AGENT },
    ])}`,
    open,
  );
}
