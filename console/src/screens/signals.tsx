import { Link } from '@tanstack/react-router';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { AgentLink, useAddress, useKept, useNames, useParam } from '../parts/hooks.tsx';
import { Empty, NotFound, Result, Screen, Section, Tabs } from '../parts/screen.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { formatNumber, Status, Time } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

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

function Costs() {
  const budgets = useKept(['budgets'], async () => (await legate.budgets.list({ limit: 100 }).page()).items);
  const summary = useKept(['costs', 'summary'], () => legate.costs.summary());
  const nameOf = useNames((budgets.data ?? []).map((b) => b.agentId));
  return (
    <>
      <Section title={t.budgets}>
        <Result of={budgets}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty>{t.noBudgets}</Empty>
            ) : (
              <Table
                caption={t.budgets}
                rows={rows}
                rowKey={(b) => b.id}
                columns={[
                  { label: t.agent, cell: (b) => <AgentLink id={b.agentId} name={nameOf(b.agentId)} /> },
                  {
                    label: t.used,
                    cell: (b) => (
                      <>
                        {t.usedOf(
                          formatNumber(b.used),
                          formatNumber(b.limit),
                          b.currency ?? t.metrics[b.metric as 'calls'],
                        )}
                        <span className="sharebox" aria-hidden="true">
                          <span
                            className={b.used > b.limit * 0.8 ? 'share over' : 'share'}
                            style={{ width: `${Math.min(100, (b.used / Math.max(b.limit, 1e-9)) * 100)}%` }}
                          />
                        </span>
                      </>
                    ),
                  },
                  { label: t.window, cell: (b) => t.windows[b.window as 'day'] ?? b.window },
                  { label: t.onExceed, cell: (b) => t.exceeds[b.onExceed as 'deny'] ?? b.onExceed },
                  { label: t.resets, cell: (b) => <Time at={b.resetsAt} /> },
                ]}
              />
            )
          }
        </Result>
      </Section>
      <Section title={t.costs}>
        <Result of={summary}>
          {(s) =>
            s.count === 0 ? (
              <Empty>{t.noCosts}</Empty>
            ) : (
              <Table
                caption={t.costs}
                rows={s.agents}
                rowKey={(a) => a.agentId}
                columns={[
                  { label: t.agent, cell: (a) => <AgentLink id={a.agentId} name={a.name} /> },
                  {
                    label: t.costs,
                    cell: (a) => a.totals.map((sum) => `${formatNumber(sum.amount)} ${sum.currency}`).join(' · '),
                  },
                  { label: t.metrics.tokens, num: true, cell: (a) => formatNumber(a.tokens) },
                ]}
              />
            )
          }
        </Result>
      </Section>
    </>
  );
}
