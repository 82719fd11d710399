import { Link } from '@tanstack/react-router';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { AgentLink, useAddress, useKept, useNames, useParam } from '../parts/hooks.tsx';
import { RevokeAgent } from '../parts/revoke.tsx';
import { NotFound, Result, Screen, Tabs } from '../parts/screen.tsx';
import { EmptyPage, Pager, Table } from '../parts/table.tsx';
import { Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { Costs } from './costs.tsx';
import { type Episode, episodesOf } from './episodes.ts';
import { observationOf } from './observed.ts';

export function Signals() {
  const Body = { anomalies: Anomalies, costs: Costs }[useParam('tab')];
  if (!Body) return <NotFound />;
  return (
    <Screen
      title={t.nav.signals}
      part={Body === Costs ? t.costs : t.anomalies}
      curl={Body === Costs ? '/costs/summary' : '/anomalies'}
    >
      <Tabs
        label={t.nav.signals}
        tabs={[
          ['/signals/anomalies', t.anomalies],
          ['/signals/costs', t.costs],
        ]}
      />
      <Body />
    </Screen>
  );
}

function Anomalies() {
  const [{ cursor }, setAddress] = useAddress();
  const page = useKept(['anomalies', cursor], () => legate.anomalies.list({ limit: 30 }).page(cursor));
  const nameOf = useNames((page.data?.items ?? []).map((a) => a.agentId));
  return (
    <Result of={page}>
      {({ items, next }) =>
        items.length === 0 ? (
          <EmptyPage cursor={cursor}>{t.noAnomalies}</EmptyPage>
        ) : (
          <>
            {episodesOf(items).map((episode) => (
              <EpisodeSection
                key={episode.anomalies[0]?.id}
                episode={episode}
                name={nameOf(episode.agentId) ?? episode.agentId}
              />
            ))}
            <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
          </>
        )
      }
    </Result>
  );
}

const AROUND_MS = 600_000;

/** The activity of one agent, with links to details and actions that stop the agent. */
function EpisodeSection({ episode: { agentId, anomalies }, name }: { episode: Episode; name: string }) {
  const [newest, oldest] = [anomalies[0], anomalies.at(-1)].map((a) => Date.parse(a?.detectedAt ?? ''));
  const iso = (ms: number): string => new Date(ms).toISOString();
  const span = { since: iso((oldest ?? 0) - AROUND_MS), until: iso((newest ?? 0) + AROUND_MS) };
  return (
    <section className="section episode">
      <header>
        <h2>
          <AgentLink id={agentId} name={name} />
        </h2>
        <div className="actions">
          <Link className="button" to="/audit" search={{ q: `agent:${agentId}`, ...span } as never}>
            {t.inAudit}
          </Link>
          {rights.write && (
            <>
              <Link className="button" to={`/agents/${agentId}`}>
                {t.tighten}
              </Link>
              <RevokeAgent id={agentId} name={name} />
            </>
          )}
        </div>
      </header>
      <Table
        caption={t.anomaliesOf(name)}
        rows={anomalies}
        rowKey={(a) => a.id}
        columns={[
          {
            label: t.time,
            cell: (a) => (
              <Link to={`/signals/anomalies/${a.id}`}>
                <Time at={a.detectedAt} />
              </Link>
            ),
          },
          { label: t.kind, cell: (a) => t.anomalyKinds[a.kind as 'rate_spike'] ?? a.kind },
          { label: t.severity, cell: (a) => <Status of={a.severity} /> },
          { label: t.observed, cell: (a) => <Untrusted sentence>{observationOf(a).sentence}</Untrusted> },
          {
            label: t.evidence,
            cell: (a) =>
              a.evidence[0] ? <Link to={`/signals/anomalies/${a.id}`}>{t.decisionCount(a.evidence.length)}</Link> : '–',
          },
          {
            label: t.state,
            cell: (a) =>
              rights.write && a.status === 'open' ? (
                <Action
                  label={t.acknowledge}
                  question={t.acknowledgeQuestion}
                  run={(reason) => legate.anomalies.acknowledge(a.id, { note: reason })}
                  stale={['anomalies', 'dashboard']}
                />
              ) : (
                <Status of={a.status} />
              ),
          },
        ]}
      />
    </section>
  );
}
