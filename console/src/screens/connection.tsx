import { Link } from '@tanstack/react-router';
import type { Grant } from 'legate/client';
import { legate, rights, serverNow } from '../api.ts';
import { connectCommand } from '../parts/connect-command.ts';
import { AgentLink, Select, useAddress, useKept, useNames, useParam } from '../parts/hooks.tsx';
import { Empty, Result, Screen, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { CopyButton, formatNumber, Id, Json, Time, Untrusted, visible } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { filterText } from './audit-filter.ts';
import { EndGrant, RemoveClient, RemoveServer } from './connection-acts.tsx';
import { ServerForm } from './connection-forms.tsx';

const MONTH_MS = 30 * 86_400_000;

/** One MCP server: its tools, the number of calls of each, and how clients connect. */
export function ServerScreen() {
  const id = useParam('id');
  const server = useKept(['servers', 'one', id], () => legate.mcp.servers.get(id));
  const name = server.data?.name ?? '';
  const since = new Date(Math.floor(serverNow() / 3.6e6) * 3.6e6 - MONTH_MS).toISOString();
  const calls = useKept(
    ['facets', 'server', id],
    () =>
      legate.audit.facets({
        by: 'resource',
        resource: `mcp:${name}:*`,
        since,
        limit: 50,
      }),
    name !== '',
  );
  const command = connectCommand(name, server.data?.endpoint ?? '');
  return (
    <Screen
      title={name || t.server}
      curl={`/mcp/servers/${id}`}
      actions={
        rights.admin &&
        server.data && (
          <>
            <ServerForm id={id} name={name} />
            <RemoveServer server={server.data} own />
          </>
        )
      }
    >
      <Result of={server}>
        {(s) => (
          <dl className="facts across">
            <dt>{t.endpoint}</dt>
            <dd>
              <Untrusted mono>{s.endpoint}</Untrusted>
            </dd>
            <dt>{t.perMinute}</dt>
            <dd>{s.rateLimit?.rpm ?? '–'}</dd>
            <dt>{t.created}</dt>
            <dd>
              <Time at={s.createdAt} />
            </dd>
            <dt>{t.id}</dt>
            <dd>
              <Id>{s.id}</Id>
            </dd>
            <dt>{t.tools}</dt>
            <dd className="tags">
              {s.tools.map((tool) => (
                <span className="tag" key={tool}>
                  <Untrusted>{tool}</Untrusted>
                </span>
              ))}
            </dd>
          </dl>
        )}
      </Result>
      {!server.isLoadingError && (
        <Section title={t.callsPerTool}>
          <Result of={calls}>
            {({ values }) =>
              values.length === 0 ? (
                <Empty>{t.noCalls}</Empty>
              ) : (
                <Table
                  caption={t.callsPerTool}
                  rows={values}
                  rowKey={(v) => v.value}
                  columns={[
                    {
                      label: t.resource,
                      cell: (v) => (
                        <Link to="/audit" search={{ q: filterText({ resource: [v.value] }), since } as never}>
                          <Untrusted mono>{v.value}</Untrusted>
                        </Link>
                      ),
                    },
                    { label: t.decisions, num: true, cell: (v) => formatNumber(v.count) },
                    { label: t.refused, num: true, cell: (v) => formatNumber(v.count - v.counts.allowed) },
                  ]}
                />
              )
            }
          </Result>
        </Section>
      )}
      {server.data && <MayCall resources={server.data.tools.map((tool) => `mcp:${server.data.name}:${tool}`)} />}
      {server.data && (
        <Section title={t.connect}>
          <p>
            <Untrusted mono>{command}</Untrusted> <CopyButton text={command} label={t.copyId(t.connect)} />
          </p>
        </Section>
      )}
    </Screen>
  );
}

/** The agents that have a permission to execute a tool. */
function MayCall({ resources }: { resources: readonly string[] }) {
  const [{ tool }, setAddress] = useAddress();
  const resource = resources.find((one) => one === tool) ?? resources[0] ?? '';
  const subjects = useKept(
    ['agents', 'subjects', 'execute', resource],
    () => legate.permissions.subjects({ action: 'execute', resource, limit: 50 }).page(),
    resource !== '',
  );
  if (resource === '') return null;
  return (
    <Section
      title={t.mayCall}
      aside={
        <Select
          label={t.tools}
          value={resource}
          options={resources.map((one) => [one, visible(one)] as const)}
          onChange={(value) => setAddress({ tool: value })}
        />
      }
    >
      <Result of={subjects} lines={2}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>{t.nobody}</Empty>
          ) : (
            <>
              <ul className="tags">
                {items.map((s) => (
                  <li key={s.agentId}>
                    <AgentLink id={s.agentId} name={s.name} />
                  </li>
                ))}
              </ul>
              {next && <p className="quiet">{t.andMore}</p>}
            </>
          )
        }
      </Result>
    </Section>
  );
}

/** One OAuth client and its registration. */
export function ClientScreen() {
  const id = useParam('id');
  const client = useKept(['clients', 'one', id], () => legate.oauth.clients.get(id));
  return (
    <Screen
      title={client.data ? String(client.data['client_name'] ?? client.data.client_id) : t.oauthClient}
      curl={`/oauth/clients/${id}`}
      actions={
        rights.admin && client.data && <RemoveClient id={id} name={String(client.data['client_name'] ?? id)} own />
      }
    >
      <Result of={client}>
        {(c) => (
          <>
            <dl className="facts">
              <dt>{t.id}</dt>
              <dd>
                <Id>{c.client_id}</Id>
              </dd>
              <dt>{t.redirects}</dt>
              <dd>
                {c.redirect_uris.map((uri) => (
                  <div key={uri}>
                    <Untrusted mono>{uri}</Untrusted>
                  </div>
                ))}
              </dd>
              <dt>{t.origin}</dt>
              <dd>{t.origins[c['origin'] as 'self'] ?? '–'}</dd>
              <dt>{t.created}</dt>
              <dd>
                <Time at={new Date(c.client_id_issued_at * 1000).toISOString()} />
              </dd>
              <dt>{t.lastUsed}</dt>
              <dd>
                <Time at={c['last_used_at'] as string | null} />
              </dd>
            </dl>
            <Section title={t.registered}>
              <Json value={c} />
            </Section>
          </>
        )}
      </Result>
    </Screen>
  );
}

/** The agent of a grant and, with an exchanged token, the agent that acts for it. */
export function GrantAgents({
  grant: { agentId, agentName, actorId },
  among,
}: {
  grant: Pick<Grant, 'agentId' | 'agentName' | 'actorId'>;
  among: readonly Pick<Grant, 'actorId'>[];
}) {
  const nameOf = useNames(among.map((one) => one.actorId));
  return (
    <>
      <AgentLink id={agentId} name={agentName} />
      {actorId && (
        <>
          {' → '}
          <AgentLink id={actorId} name={nameOf(actorId)} />
        </>
      )}
    </>
  );
}

/** Whether the id of a client is the address of its metadata. Such a client is not registered, so it has no screen. */
const isDocument = (clientId: string): boolean => clientId.startsWith('https://');

/** One grant: its client, its agent, its servers and its expiry. */
export function GrantScreen() {
  const id = useParam('id');
  const grant = useKept(['grants', 'one', id], () => legate.oauth.grants.get(id));
  return (
    <Screen
      title={grant.data?.clientName ?? t.grant}
      curl={`/oauth/grants/${id}`}
      actions={rights.write && grant.data && <EndGrant grant={grant.data} own />}
    >
      <Result of={grant}>
        {(g) => (
          <dl className="facts">
            <dt>{t.client}</dt>
            <dd>
              {rights.all && !isDocument(g.clientId) ? (
                <Link to={`/connections/clients/${encodeURIComponent(g.clientId)}`}>
                  <Untrusted>{g.clientName ?? g.clientId}</Untrusted>
                </Link>
              ) : (
                <Untrusted>{g.clientName ?? g.clientId}</Untrusted>
              )}
              {isDocument(g.clientId) && (
                <div className="quiet">
                  <Untrusted mono>{g.clientId}</Untrusted>
                </div>
              )}
            </dd>
            <dt>{t.agent}</dt>
            <dd>
              <GrantAgents grant={g} among={[g]} />
            </dd>
            <dt>{t.resource}</dt>
            <dd>
              <Untrusted mono>{g.resource}</Untrusted>
            </dd>
            <dt>{t.scopes}</dt>
            <dd>
              <Untrusted mono>{g.scopes.join(' ')}</Untrusted>
            </dd>
            <dt>{t.created}</dt>
            <dd>
              <Time at={g.createdAt} />
            </dd>
            <dt>{t.lastUsed}</dt>
            <dd>
              <Time at={g.lastUsedAt} />
            </dd>
            <dt>{t.expires}</dt>
            <dd>
              <Time at={g.expiresAt} />
            </dd>
            <dt>{t.id}</dt>
            <dd>
              <Id>{g.id}</Id>
            </dd>
          </dl>
        )}
      </Result>
    </Screen>
  );
}
