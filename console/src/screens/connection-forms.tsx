import type { McpServer, Webhook } from 'legate/client';
import { legate } from '../api.ts';
import { FormButton, wordsOf } from '../parts/form.tsx';
import { t } from '../texts/index.ts';
import { filterText, parseFilter } from './audit-filter.ts';

/** Registers an MCP server, or changes an existing one. */
export function ServerForm({ id, name = '' }: { id?: string; name?: string }) {
  return (
    <FormButton<'name' | 'endpoint' | 'tools' | 'rpm' | 'signIn', McpServer | undefined>
      label={id ? t.edit : t.registerServer}
      title={id ? t.editOf(name) : t.registerServer}
      stale={['servers', 'changes']}
      inputs={[
        { name: 'name', label: t.name, hint: t.serverNameHint, maxLength: 128 },
        { name: 'endpoint', label: t.endpoint, type: 'url' },
        { name: 'tools', label: t.tools, hint: t.wordsHint, optional: true },
        { name: 'rpm', label: t.perMinute, hint: t.capHint, type: 'number', optional: true, path: 'rateLimit' },
        {
          name: 'signIn',
          label: t.needsToken,
          path: 'authRequired',
          options: [
            ['true', t.yes],
            ['', t.no],
          ],
        },
      ]}
      {...(id && {
        edited: {
          id,
          type: 'mcp.updated',
          load: () => legate.mcp.servers.get(id),
          values: (s: McpServer | undefined) => ({
            name: s?.name ?? '',
            endpoint: s?.endpoint ?? '',
            tools: s?.tools.join(' ') ?? '',
            rpm: String(s?.rateLimit?.rpm ?? ''),
            signIn: s?.authRequired ? 'true' : '',
          }),
        },
      })}
      run={({ name: given, endpoint, tools, rpm, signIn }, of, reason) => {
        const fields = { name: given.trim(), endpoint, tools: wordsOf(tools), authRequired: signIn !== '' };
        const rateLimit = rpm === '' ? null : { rpm: Number(rpm) };
        return of
          ? legate.mcp.servers.update(of.id, { ...fields, rateLimit, reason }, { ifMatch: of })
          : legate.mcp.servers.create({ ...fields, ...(rateLimit && { rateLimit }) });
      }}
    />
  );
}

export const ClientForm = () => (
  <FormButton
    label={t.registerClient}
    stale={['clients', 'changes']}
    inputs={[
      { name: 'name', label: t.name, path: 'client_name' },
      { name: 'redirects', label: t.redirects, hint: t.wordsHint, path: 'redirect_uris' },
    ]}
    run={({ name, redirects }) => legate.oauth.clients.create({ client_name: name, redirect_uris: wordsOf(redirects) })}
    secret={(answer: { client_secret?: string }) => answer.client_secret}
  />
);

const CHATS = ['slack', 'teams', 'discord'] as const;

/** A filter of the audit screen, without times. */
function filterProblem(text: string): string | undefined {
  const { query, unknown } = parseFilter(text);
  const wrong = [...unknown, ...['since', 'until'].filter((name) => name in query)];
  return wrong.length > 0 ? t.notFilters(wrong.join(' ')) : undefined;
}

/** Registers a webhook, or changes an existing one, whose format is fixed. */
export function WebhookForm({ id }: { id?: string }) {
  return (
    <FormButton<'url' | 'format' | 'types' | 'filters', Webhook | undefined>
      label={id ? t.edit : t.registerWebhook}
      title={id ? t.editOf(t.webhook) : t.registerWebhook}
      stale={['webhooks', 'changes']}
      inputs={[
        { name: 'url', label: t.address, type: 'url' },
        ...(id
          ? []
          : [
              {
                name: 'format' as const,
                label: t.messageFormat,
                options: [['', t.messageFormats.json] as const, ...CHATS.map((c) => [c, t.messageFormats[c]] as const)],
              },
            ]),
        { name: 'types', label: t.eventTypes, hint: t.typesHint, optional: true },
        { name: 'filters', label: t.filter, hint: t.webhookFilterHint, optional: true, wrong: filterProblem },
      ]}
      {...(id && {
        edited: {
          id,
          type: 'webhook.updated',
          load: () => legate.webhooks.get(id),
          values: (w: Webhook | undefined) => ({
            url: w?.url ?? '',
            format: w?.format ?? '',
            types: w?.types?.join(' ') ?? '',
            filters: filterText(w?.filters ?? {}),
          }),
        },
      })}
      run={({ url, format, types, filters }, of, reason) => {
        const { query } = parseFilter(filters);
        const fields = {
          url,
          types: wordsOf(types).length > 0 ? (wordsOf(types) as ['audit']) : null,
          filters: Object.keys(query).length > 0 ? (query as object) : null,
        };
        return of
          ? legate.webhooks.update(of.id, { ...fields, reason }, { ifMatch: of })
          : legate.webhooks.create({ ...fields, ...(format !== '' && { format: format as 'slack' }) });
      }}
      secret={(answer: { secret?: string }) => answer.secret}
    />
  );
}
