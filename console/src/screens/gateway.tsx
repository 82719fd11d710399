import { Link } from '@tanstack/react-router';
import type { StreamEvent as Event, GatewayServer, GatewayTool } from 'legate/client';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { Select, useAddress, useKept, useParam } from '../parts/hooks.tsx';
import { Empty, Result, Screen, Section } from '../parts/screen.tsx';
import { EmptyPage, Pager, Table } from '../parts/table.tsx';
import { formatNumber, Json, Status, Time, Untrusted } from '../parts/text.tsx';
import { Difference } from '../parts/versions.tsx';
import { t } from '../texts/index.ts';

const STATES = ['new', 'changed', 'blocked', 'approved'] as const;
type State = (typeof STATES)[number];
const pathOf = (name: string): string => `/connections/gateway/${encodeURIComponent(name)}`;

/** The servers behind the gateway, and the newest calls of their tools. */
export function GatewayServers() {
  const servers = useKept(['gateway', 'servers'], () => legate.gateway.servers.list());
  return (
    <>
      <Section title={t.gatewayServers}>
        <Result of={servers}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty>{t.noGatewayServers}</Empty>
            ) : (
              <Table
                caption={t.gatewayServers}
                rows={rows}
                rowKey={(s) => s.name}
                columns={[
                  { label: t.name, cell: (s) => <Link to={pathOf(s.name)}>{s.name}</Link> },
                  { label: t.state, cell: (s) => <Status of={s.state} /> },
                  { label: t.processes, num: true, cell: (s) => formatNumber(s.processes) },
                  { label: t.pinMode, cell: (s) => t.pinModes[s.pin as 'enforce'] },
                  ...STATES.map((state) => ({
                    label: t.toolStates[state],
                    num: true,
                    cell: (s: GatewayServer) => (
                      <Link className="button plain" to={pathOf(s.name)} search={{ state } as never}>
                        {formatNumber(s.tools[state])}
                      </Link>
                    ),
                  })),
                ]}
              />
            )
          }
        </Result>
      </Section>
      <Calls />
    </>
  );
}

/** Fields of the event `gateway.call`. */
interface Call {
  readonly auditId: string | null;
  readonly server: string;
  readonly tool: string;
  readonly outcome: string;
  readonly durationMs: number;
}

function Calls() {
  const [{ cursor }, setAddress] = useAddress();
  const page = useKept(['gateway', 'calls', cursor], () =>
    legate.events.list({ types: ['gateway.call'], limit: 50 }).page(cursor),
  );
  const call = ({ data }: Event): Call => data as unknown as Call;
  return (
    <Section title={t.gatewayCalls}>
      <Result of={page}>
        {({ items, next }) =>
          items.length === 0 ? (
            <EmptyPage cursor={cursor}>{t.noGatewayCalls}</EmptyPage>
          ) : (
            <>
              <Table
                caption={t.gatewayCalls}
                rows={items}
                rowKey={(e) => e.id}
                columns={[
                  {
                    label: t.time,
                    cell: (e) => {
                      const { auditId } = call(e);
                      return auditId ? (
                        <Link to={`/audit/${auditId}`}>
                          <Time at={e.timestamp} />
                        </Link>
                      ) : (
                        <Time at={e.timestamp} />
                      );
                    },
                  },
                  { label: t.server, cell: (e) => <Untrusted>{call(e).server}</Untrusted> },
                  { label: t.tool, cell: (e) => <Untrusted mono>{call(e).tool}</Untrusted> },
                  { label: t.outcome, cell: (e) => <Status of={call(e).outcome} /> },
                  {
                    label: t.duration,
                    num: true,
                    cell: (e) => t.milliseconds(formatNumber(call(e).durationMs)),
                  },
                ]}
              />
              <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
            </>
          )
        }
      </Result>
    </Section>
  );
}

/** One server: its settings, and its tools with their differences from the approved definitions. */
export function GatewayServerScreen() {
  const name = useParam('name');
  const [{ state, cursor }, setAddress] = useAddress();
  const servers = useKept(['gateway', 'servers'], () => legate.gateway.servers.list());
  const tools = useKept(['gateway', 'tools', name, state, cursor], () =>
    legate.gateway.servers.tools.list(name, { limit: 50, ...(state && { state: state as State }) }).page(cursor),
  );
  return (
    <Screen
      title={name}
      curl={`/gateway/servers/${encodeURIComponent(name)}/tools`}
      actions={
        rights.admin && (
          <Action
            danger
            label={t.restart}
            question={t.restartQuestion(name)}
            text={t.restartText}
            run={(reason) => legate.gateway.servers.restart(name, { reason })}
            stale={['gateway', 'changes']}
          />
        )
      }
    >
      <Result of={servers}>
        {(all) => {
          const server = all.find((s) => s.name === name);
          return server ? <Facts server={server} /> : <Empty>{t.errors['NOT_FOUND']}</Empty>;
        }}
      </Result>
      <Section
        title={t.tools}
        aside={
          <Select
            label={t.state}
            value={(state ?? '') as State | ''}
            options={(['', ...STATES] as const).map((one) => [one, t.toolStates[one]] as const)}
            onChange={(one) => setAddress({ state: one || undefined, cursor: undefined })}
          />
        }
      >
        <Result of={tools}>
          {({ items, next }) =>
            items.length === 0 ? (
              <EmptyPage cursor={cursor}>{t.noGatewayTools}</EmptyPage>
            ) : (
              <>
                {items.map((tool) => (
                  <Tool key={tool.name} server={name} tool={tool} />
                ))}
                <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
              </>
            )
          }
        </Result>
      </Section>
    </Screen>
  );
}

const Facts = ({ server: s }: { server: GatewayServer }) => (
  <dl className="facts across">
    <dt>{t.forClients}</dt>
    <dd>
      <Untrusted mono>{s.url}</Untrusted>
    </dd>
    <dt>{t.state}</dt>
    <dd>
      <Status of={s.state} />
    </dd>
    {s.problem !== null && (
      <>
        <dt>{t.problem}</dt>
        <dd>
          <Untrusted>{s.problem}</Untrusted>
        </dd>
      </>
    )}
    <dt>{t.transport}</dt>
    <dd>{s.transport}</dd>
    <dt>{t.processes}</dt>
    <dd>{t.processesOf(formatNumber(s.processes), formatNumber(s.maxProcesses))}</dd>
    <dt>{t.isolated}</dt>
    <dd>{t.isolations[s.isolation as 'user']}</dd>
    <dt>{t.pinMode}</dt>
    <dd>{t.pinModes[s.pin as 'enforce']}</dd>
    <dt>{t.baseline}</dt>
    <dd>
      <Time at={s.baselineAt} />
    </dd>
  </dl>
);

function Tool({ server, tool }: { server: string; tool: GatewayTool }) {
  const { name, state, approved, seen } = tool;
  const difference = approved && approved.hash !== seen.hash ? differing(approved.tool, seen.tool) : undefined;
  return (
    <section className="section">
      <header>
        <h3>
          <Untrusted mono>{name}</Untrusted> <Status of={state} />
        </h3>
        {rights.admin && state !== 'blocked' && (
          <Action
            danger
            label={t.block}
            question={t.blockQuestion(name)}
            text={t.blockText}
            run={(reason) => legate.gateway.servers.tools.block(server, name, { reason })}
            stale={['gateway', 'changes']}
          />
        )}
      </header>
      {difference && <Difference before={difference.before} after={difference.after} />}
      {state === 'new' ? (
        <Json value={seen.tool} />
      ) : (
        <details>
          <summary>{t.definition}</summary>
          <Json value={seen.tool} />
        </details>
      )}
      {/* Below the definition, which is to be read first. */}
      {rights.admin && (state !== 'approved' || approved?.hash !== seen.hash) && (
        <div className="actions">
          <Action
            label={t.approve}
            question={t.approveQuestion(name)}
            text={t.approveText}
            // Approves exactly the definition on the screen, not a newer one.
            run={(reason) =>
              legate.gateway.servers.tools.approve(server, name, { definition: seen.hash, ...(reason && { reason }) })
            }
            stale={['gateway', 'changes']}
          />
        </div>
      )}
    </section>
  );
}

type Members = Record<string, unknown>;

/** The members of two definitions that differ. */
function differing(before: Members, after: Members): { before: Members; after: Members } {
  const names = Object.keys({ ...before, ...after }).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const pick = (from: Members): Members =>
    Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
  return { before: pick(before), after: pick(after) };
}
