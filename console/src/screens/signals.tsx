import { Link } from '@tanstack/react-router';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { AgentLink, useAddress, useKept, useNames, useParam } from '../parts/hooks.tsx';
import { Empty, NotFound, Result, Screen, Tabs } from '../parts/screen.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { Status, Time } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { Costs } from './costs.tsx';

export function Signals() {
  const Body = { anomalies: Anomalies, costs: Costs }[useParam('tab')];
  if (!Body) return <NotFound />;
  return (
    <Screen title={t.nav.signals} curl={Body === Costs ? '/costs/summary' : '/anomalies'}>
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
          <Empty>{t.noAnomalies}</Empty>
        ) : (
          <>
            <Table
              caption={t.anomalies}
              rows={items}
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
                { label: t.agent, cell: (a) => <AgentLink id={a.agentId} name={nameOf(a.agentId)} /> },
                { label: t.kind, cell: (a) => t.anomalyKinds[a.kind as 'rate_spike'] ?? a.kind },
                { label: t.severity, cell: (a) => <Status of={a.severity} /> },
                { label: t.observed, cell: (a) => t.observedAgainst(String(a.observed), String(a.expected)) },
                {
                  label: t.evidence,
                  cell: (a) => (a.evidence[0] ? <Link to={`/audit/${a.evidence[0]}`}>{t.decision}</Link> : '–'),
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
            <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
          </>
        )
      }
    </Result>
  );
}
