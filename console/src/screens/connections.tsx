import { Link } from '@tanstack/react-router';
import { legate, rights } from '../api.ts';
import { useAddress, useKept, useNames, useParam } from '../parts/hooks.tsx';
import { NotFound, Result, Screen, Tabs } from '../parts/screen.tsx';
import { type Column, EmptyPage, Pager, Table } from '../parts/table.tsx';
import { Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { GrantAgents } from './connection.tsx';
import { EndGrant, RemoveClient, RemoveServer } from './connection-acts.tsx';
import { ClientForm, ServerForm, WebhookForm } from './connection-forms.tsx';
import { GatewayServers } from './gateway.tsx';

const CURL = {
  servers: '/mcp/servers',
  gateway: '/gateway/servers',
  clients: '/oauth/clients',
  grants: '/oauth/grants',
  webhooks: '/webhooks',
} as const;

export function Connections() {
  const tab = useParam('tab');
  const Body = { servers: Servers, gateway: GatewayServers, clients: Clients, grants: Grants, webhooks: Webhooks }[tab];
  if (!Body) return <NotFound />;
  return (
    <Screen
      title={t.nav.connections}
      part={t[tab as keyof typeof CURL]}
      curl={CURL[tab as keyof typeof CURL]}
      actions={<Making tab={tab} />}
    >
      <Tabs
        label={t.nav.connections}
        tabs={[
          ...(rights.all
            ? ([
                ['/connections/servers', t.servers],
                ['/connections/gateway', t.gateway],
                ['/connections/clients', t.clients],
              ] as const)
            : []),
          ['/connections/grants', t.grants],
          ['/connections/webhooks', t.webhooks],
        ]}
      />
      <Body />
    </Screen>
  );
}

/** The objects that can be registered on a tab. */
function Making({ tab }: { tab: string }) {
  if (tab === 'servers' && rights.admin) return <ServerForm />;
  if (tab === 'clients' && rights.admin) return <ClientForm />;
  if (tab === 'webhooks' && rights.write) return <WebhookForm />;
  return null;
}

interface Page<T> {
  readonly items: T[];
  readonly next: string | undefined;
}

function Listing<T>({
  name,
  caption,
  empty,
  fetch,
  rowKey,
  columns,
}: {
  name: string;
  caption: string;
  empty: string;
  fetch: (cursor: string | undefined) => Promise<Page<T>>;
  rowKey: (row: T) => string;
  columns: (rows: readonly T[]) => readonly Column<T>[];
}) {
  const [{ cursor }, setAddress] = useAddress();
  const page = useKept([name, 'list', cursor], () => fetch(cursor));
  return (
    <Result of={page} lines={6}>
      {({ items, next }) =>
        items.length === 0 ? (
          <EmptyPage cursor={cursor}>{empty}</EmptyPage>
        ) : (
          <>
            <Table caption={caption} rows={items} rowKey={rowKey} columns={columns(items)} />
            <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
          </>
        )
      }
    </Result>
  );
}

const Servers = () => (
  <Listing
    name="servers"
    caption={t.servers}
    empty={t.noServers}
    fetch={(cursor) => legate.mcp.servers.list({ limit: 50 }).page(cursor)}
    rowKey={(s) => s.id}
    columns={() => [
      {
        label: t.name,
        cell: (s) => (
          <Link to={`/connections/servers/${s.id}`}>
            <Untrusted>{s.name}</Untrusted>
          </Link>
        ),
      },
      { label: t.endpoint, cell: (s) => <Untrusted mono>{s.endpoint}</Untrusted> },
      {
        label: t.tools,
        cell: (s) => (
          <div className="tags">
            {s.tools.map((tool) => (
              <span className="tag" key={tool}>
                <Untrusted>{tool}</Untrusted>
              </span>
            ))}
          </div>
        ),
      },
      { label: t.perMinute, num: true, cell: (s) => s.rateLimit?.rpm ?? '–' },
      ...(rights.admin
        ? [
            {
              label: t.change,
              cell: (s: { id: string; name: string }) => <RemoveServer server={s} />,
            },
          ]
        : []),
    ]}
  />
);

const Clients = () => (
  <Listing
    name="clients"
    caption={t.clients}
    empty={t.noClients}
    fetch={(cursor) => legate.oauth.clients.list({ limit: 50 }).page(cursor)}
    rowKey={(c) => c.client_id}
    columns={() => [
      {
        label: t.name,
        cell: (c) => (
          <Link to={`/connections/clients/${c.client_id}`}>
            <Untrusted>{String(c['client_name'] ?? c.client_id)}</Untrusted>
          </Link>
        ),
      },
      { label: t.id, cell: (c) => <code>{c.client_id}</code> },
      {
        label: t.redirectHosts,
        cell: (c) => (
          <Untrusted>
            {[...new Set(c.redirect_uris.map((uri) => (URL.canParse(uri) ? new URL(uri).host : uri)))].join(', ')}
          </Untrusted>
        ),
      },
      { label: t.origin, cell: (c) => t.origins[c['origin'] as 'self'] ?? '–' },
      { label: t.created, cell: (c) => <Time at={new Date(c.client_id_issued_at * 1000).toISOString()} /> },
      { label: t.lastUsed, cell: (c) => <Time at={c['last_used_at'] as string | null} /> },
      ...(rights.admin
        ? [
            {
              label: t.change,
              cell: (c: { client_id: string; client_name?: unknown }) => (
                <RemoveClient id={c.client_id} name={String(c.client_name ?? c.client_id)} />
              ),
            },
          ]
        : []),
    ]}
  />
);

function Grants() {
  return (
    <Listing
      name="grants"
      caption={t.grants}
      empty={t.noGrants}
      fetch={(cursor) => legate.oauth.grants.list({ limit: 50 }).page(cursor)}
      rowKey={(g) => g.id}
      columns={(grants) => [
        {
          label: t.client,
          cell: (g) => (
            <Link to={`/connections/grants/${g.id}`}>
              <Untrusted>{g.clientName ?? g.clientId}</Untrusted>
            </Link>
          ),
        },
        { label: t.agent, cell: (g) => <GrantAgents grant={g} among={grants} /> },
        { label: t.resource, cell: (g) => <Untrusted mono>{g.resource}</Untrusted> },
        { label: t.scopes, cell: (g) => <Untrusted mono>{g.scopes.join(' ')}</Untrusted> },
        { label: t.lastUsed, cell: (g) => <Time at={g.lastUsedAt} /> },
        ...(rights.write
          ? [
              {
                label: t.change,
                cell: (g: { id: string; clientName: string | null; clientId: string }) => <EndGrant grant={g} />,
              },
            ]
          : []),
      ]}
    />
  );
}

function Webhooks() {
  return (
    <Listing
      name="webhooks"
      caption={t.webhooks}
      empty={t.noWebhooks}
      fetch={(cursor) => legate.webhooks.list({ limit: 50 }).page(cursor)}
      rowKey={(w) => w.id}
      columns={(rows) => [
        {
          label: t.address,
          cell: (w) => (
            <Link to={`/connections/webhooks/${w.id}`}>
              <Untrusted mono>{w.url}</Untrusted>
            </Link>
          ),
        },
        { label: t.owner, cell: (w) => <Owner id={w.ownerId} among={rows.map((r) => r.ownerId)} /> },
        { label: t.state, cell: (w) => <Status of={w.enabled ? 'enabled' : 'disabled'} /> },
        { label: t.eventTypes, cell: (w) => <Untrusted mono>{w.types?.join(', ') ?? t.any}</Untrusted> },
      ]}
    />
  );
}

function Owner({ id, among }: { id: string; among: readonly string[] }) {
  const nameOf = useNames(among);
  return <Untrusted>{nameOf(id) ?? id}</Untrusted>;
}
