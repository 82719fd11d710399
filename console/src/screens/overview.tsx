import { Link, useNavigate } from '@tanstack/react-router';
import { legate, serverNow } from '../api.ts';
import { Bars } from '../parts/bars.tsx';
import { EntryTable } from '../parts/entries.tsx';
import { FirstSteps } from '../parts/first-steps.tsx';
import { AgentLink, Select, useAddress, useKept } from '../parts/hooks.tsx';
import { Empty, Result, Screen, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { formatAmount, formatNumber } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

type Span = '24h' | '7d' | '30d';
const HOURS: Readonly<Record<Span, number>> = { '24h': 24, '7d': 168, '30d': 720 };

/** Facets need a time range. It is computed once per change of the window, so that the query key is stable. */
const since = (span: Span): string =>
  new Date(Math.floor(serverNow() / 3.6e6) * 3.6e6 - HOURS[span] * 3.6e6).toISOString();

export function Overview() {
  const [address, setAddress] = useAddress();
  const navigate = useNavigate();
  const span: Span = address['window'] === '7d' || address['window'] === '30d' ? address['window'] : '24h';
  const attention = useKept(['dashboard', 'attention'], () => legate.dashboard.attention());
  const series = useKept(['dashboard', 'series', span], () =>
    legate.dashboard.series({ window: span, buckets: span === '24h' ? 24 : span === '7d' ? 56 : 60 }),
  );
  const stats = useKept(['dashboard', 'stats', span], () => legate.dashboard.stats({ window: span }));
  const reasons = useKept(['facets', 'overview', span], () =>
    legate.audit.facets({ by: 'reason', since: since(span), limit: 6 }),
  );
  const refusals = useKept(
    ['dashboard', 'refusals'],
    async () => (await legate.audit.list({ result: ['denied', 'rate_limited'], order: 'desc', limit: 8 }).page()).items,
  );
  const spend = useKept(['costs', 'overview', span], () => legate.costs.summary({ since: since(span) }));
  return (
    <Screen title={t.nav.overview} curl={`/dashboard/series?window=${span}`}>
      <Result of={attention} lines={2}>
        {(a) => (
          <div className="attention">
            {(
              [
                ['/approvals', t.attention.approvals, a.approvals.count],
                ['/signals/anomalies', t.attention.anomalies, a.anomalies.count],
                ['/signals/costs', t.attention.budgets, a.budgets.count],
                ['/connections/webhooks', t.attention.webhooks, a.webhooks.count],
                ['/agents', t.attention.agents, a.agents.count, { expires: 'soon' }],
              ] as const
            ).map(([to, label, count, search]) => (
              <Link key={to} to={to} search={search as never} className={count > 0 ? 'some' : undefined}>
                <strong>{formatNumber(count)}</strong>
                {label(count)}
              </Link>
            ))}
          </div>
        )}
      </Result>
      {stats.data?.totalAuditEntries === 0 && <FirstSteps />}
      <Section
        title={t.decisionsOverTime}
        aside={
          <Select
            label={t.span}
            value={span}
            options={[
              ['24h', t.spans['24h']],
              ['7d', t.spans['7d']],
              ['30d', t.spans['30d']],
            ]}
            onChange={(window) => setAddress({ window })}
          />
        }
      >
        <Result of={series}>
          {({ buckets }) => (
            <Bars
              bars={buckets.map((b) => ({ ...b, limited: b.rateLimited }))}
              open={({ from, to }) => void navigate({ to: '/audit', search: { since: from, until: to } as never })}
            />
          )}
        </Result>
      </Section>
      <div className="columns">
        <Section title={t.refusalsByReason}>
          <Result of={reasons}>
            {({ values }) =>
              values.length === 0 ? (
                <Empty>{t.noRefusals}</Empty>
              ) : (
                <Table
                  caption={t.refusalsByReason}
                  rows={values}
                  rowKey={(v) => v.value}
                  columns={[
                    {
                      label: t.reason,
                      cell: (v) => (
                        <Link to="/audit" search={{ q: `reason:${v.value}`, since: since(span) } as never}>
                          {(t.reasons as Record<string, string>)[v.value] ?? v.value}
                        </Link>
                      ),
                    },
                    { label: t.decisions, num: true, cell: (v) => formatNumber(v.count) },
                  ]}
                />
              )
            }
          </Result>
        </Section>
        <Section title={t.topAgents}>
          <Result of={stats}>
            {({ topAgentsByCallCount: top, totalAuditEntries: total }) =>
              top.length === 0 ? (
                <Empty>{total === 0 ? t.noDecisions : t.noDecisionsThen}</Empty>
              ) : (
                <Table
                  caption={t.topAgents}
                  rows={top.slice(0, 6)}
                  rowKey={(row) => row.agentId}
                  columns={[
                    { label: t.agent, cell: (row) => <AgentLink id={row.agentId} name={row.name} /> },
                    {
                      label: t.decisions,
                      num: true,
                      cell: (row) => (
                        <Link to="/audit" search={{ q: `agent:${row.agentId}`, since: since(span) } as never}>
                          {formatNumber(row.callCount)}
                        </Link>
                      ),
                    },
                    {
                      label: t.refused,
                      num: true,
                      cell: (row) => (
                        <Link
                          to="/audit"
                          search={{ q: `agent:${row.agentId} -result:allowed`, since: since(span) } as never}
                        >
                          {formatNumber(row.deniedCount)}
                        </Link>
                      ),
                    },
                  ]}
                />
              )
            }
          </Result>
        </Section>
      </div>
      <Section title={t.spend}>
        <Result of={spend} lines={1}>
          {({ totals, tokens, count }) =>
            count === 0 ? (
              <Empty>{t.noCostsThen}</Empty>
            ) : (
              <p>
                <Link to="/signals/costs">
                  {[
                    ...totals.map((sum) => `${formatAmount(sum.amount)} ${sum.currency}`),
                    `${formatNumber(tokens)} ${t.metrics.tokens}`,
                  ].join(' · ')}
                </Link>
              </p>
            )
          }
        </Result>
      </Section>
      <Section title={t.newestRefusals}>
        <Result of={refusals}>
          {(rows) => (rows.length === 0 ? <Empty>{t.noRefusalsYet}</Empty> : <EntryTable entries={rows} />)}
        </Result>
      </Section>
    </Screen>
  );
}
