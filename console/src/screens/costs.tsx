import type { Budget } from 'legate/client';
import { legate, rights, serverNow } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { AgentLink, useAddress, useKept, useNames } from '../parts/hooks.tsx';
import { Empty, Result, Section } from '../parts/screen.tsx';
import { EmptyPage, Pager, Table } from '../parts/table.tsx';
import { formatAmount, formatDay, formatNumber, formatTime, Time } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { BUDGETS_STALE, BudgetForm } from './budget-form.tsx';
import { unitOf } from './budget-unit.ts';
import { forecast, profileOf, windowStart } from './forecast.ts';

const DAY_MS = 86_400_000;
const DAYS = 30;

export function Costs() {
  const [{ cursor }, setAddress] = useAddress();
  const budgets = useKept(['budgets', 'list', cursor], () => legate.budgets.list({ limit: 100 }).page(cursor));
  const nameOf = useNames((budgets.data?.items ?? []).map((b) => b.agentId));
  return (
    <>
      <Section title={t.budgets} aside={rights.write && <BudgetForm />}>
        <Result of={budgets}>
          {({ items, next }) =>
            items.length === 0 ? (
              <EmptyPage cursor={cursor}>{t.noBudgets}</EmptyPage>
            ) : (
              <>
                <Table
                  caption={t.budgets}
                  rows={items}
                  rowKey={(b) => b.id}
                  columns={[
                    { label: t.agent, cell: (b) => <AgentLink id={b.agentId} name={nameOf(b.agentId)} /> },
                    { label: t.used, cell: (b) => <Used budget={b} /> },
                    { label: t.window, cell: (b) => t.windows[b.window as 'day'] ?? b.window },
                    { label: t.onExceed, cell: (b) => t.exceeds[b.onExceed as 'deny'] ?? b.onExceed },
                    { label: t.forecast, cell: (b) => <Outlook budget={b} /> },
                    { label: t.resets, cell: (b) => <Time at={b.resetsAt} /> },
                    ...(rights.write
                      ? [
                          {
                            label: t.change,
                            cell: (b: Budget) => (
                              <div className="actions">
                                <BudgetForm id={b.id} agent={nameOf(b.agentId) ?? b.agentId} />
                                <Action
                                  danger
                                  label={t.remove}
                                  question={t.removeQuestion(t.budgetOf(nameOf(b.agentId) ?? b.agentId))}
                                  run={(reason) => legate.budgets.delete(b.id, { reason })}
                                  stale={BUDGETS_STALE}
                                />
                              </div>
                            ),
                          },
                        ]
                      : []),
                  ]}
                />
                <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
              </>
            )
          }
        </Result>
      </Section>
      <ByDay />
      <ByAgent />
    </>
  );
}

const Used = ({ budget: b }: { budget: Budget }) => (
  <>
    {t.usedOf(formatAmount(b.used), formatAmount(b.limit), unitOf(b))}
    <span className="sharebox" aria-hidden="true">
      <span
        className={b.used > b.limit * 0.8 ? 'share over' : 'share'}
        style={{ width: `${Math.min(100, (b.used / Math.max(b.limit, 1e-9)) * 100)}%` }}
      />
    </span>
  </>
);

/** The forecast of when the limit is reached. Calls have no history per hour, so their rate is used. */
function Outlook({ budget: b }: { budget: Budget }) {
  const history = useKept(
    ['costs', 'hourly', b.agentId],
    async () => {
      // A request has at most 200 buckets: a week of hours.
      const end = Math.floor(serverNow() / 3.6e6) * 3.6e6;
      const weeks = await Promise.all(
        [2, 1].map((n) =>
          legate.costs.series({
            agentId: b.agentId,
            since: new Date(end - n * 7 * DAY_MS),
            until: new Date(end - (n - 1) * 7 * DAY_MS),
            buckets: 168,
          }),
        ),
      );
      return weeks.flatMap((week) => week.buckets);
    },
    b.metric !== 'calls' && b.window !== 'hour',
  );
  const hourly = (history.data ?? []).map(({ from, tokens, totals }) => ({
    at: Date.parse(from),
    used: b.metric === 'tokens' ? tokens : (totals.find((s) => s.currency === b.currency)?.amount ?? 0),
  }));
  const resetsAt = Date.parse(b.resetsAt);
  const span = { used: b.used, limit: b.limit, startsAt: windowStart(b.window, resetsAt), resetsAt };
  const { atReset, reachedAt } = forecast(span, Math.min(serverNow(), resetsAt), profileOf(hourly));
  if (b.used >= b.limit) return <span className="status denied">{t.limitReached}</span>;
  if (reachedAt) return <span className="status limited">{t.reachedAt(formatTime(reachedAt.toISOString()))}</span>;
  return (
    <span className="quiet">
      {t.aboutAtEnd(
        formatAmount(
          b.metric !== 'cost'
            ? Math.round(atReset)
            : atReset < 1
              ? Number(atReset.toPrecision(2))
              : Math.round(atReset * 100) / 100,
        ),
        unitOf(b),
      )}
    </span>
  );
}

/** Costs by day. Each currency has its own column, because amounts in different currencies cannot be added. */
function ByDay() {
  const days = useKept(['costs', 'days'], () => {
    const end = (Math.floor(serverNow() / DAY_MS) + 1) * DAY_MS;
    return legate.costs.series({ since: new Date(end - DAYS * DAY_MS), until: new Date(end), buckets: DAYS });
  });
  return (
    <Section title={t.costsByDay}>
      <Result of={days}>
        {({ buckets }) => {
          const currencies = [...new Set(buckets.flatMap((b) => b.totals.map((s) => s.currency)))].sort();
          const amount = (b: (typeof buckets)[number], currency: string): number =>
            b.totals.find((s) => s.currency === currency)?.amount ?? 0;
          const spent = buckets.filter((b) => b.count > 0).toReversed();
          if (spent.length === 0) return <Empty>{t.noCostsThen}</Empty>;
          return (
            <>
              {currencies.map((currency) => {
                const top = Math.max(...buckets.map((b) => amount(b, currency)));
                return (
                  <figure key={currency} className="spend">
                    <figcaption>{currency}</figcaption>
                    <div className="bars small" aria-hidden="true">
                      {buckets.map((b) => (
                        <div key={b.from} title={`${formatDay(b.from)}: ${formatAmount(amount(b, currency))}`}>
                          <i
                            className="b-allowed"
                            style={{ height: `${(amount(b, currency) / Math.max(top, 1e-9)) * 100}%` }}
                          />
                        </div>
                      ))}
                    </div>
                    <div className="axis" aria-hidden="true">
                      <span>{formatDay(buckets[0]?.from ?? '')}</span>
                      <span>{t.peak(formatAmount(top))}</span>
                      <span>{formatDay(buckets.at(-1)?.from ?? '')}</span>
                    </div>
                  </figure>
                );
              })}
              <details className="small">
                <summary>{t.asTable}</summary>
                <Table
                  caption={t.costsByDay}
                  rows={spent}
                  rowKey={(b) => b.from}
                  columns={[
                    { label: t.day, cell: (b) => <time dateTime={b.from.slice(0, 10)}>{formatDay(b.from)}</time> },
                    ...currencies.map((currency) => ({
                      label: currency,
                      num: true,
                      cell: (b: (typeof buckets)[number]) => formatAmount(amount(b, currency)),
                    })),
                    { label: t.tokens, num: true, cell: (b) => formatNumber(b.tokens) },
                  ]}
                />
              </details>
            </>
          );
        }}
      </Result>
    </Section>
  );
}

function ByAgent() {
  const summary = useKept(['costs', 'summary'], () => legate.costs.summary());
  return (
    <Section title={t.costsByAgent}>
      <Result of={summary}>
        {(s) =>
          s.count === 0 ? (
            <Empty>{t.noCosts}</Empty>
          ) : (
            <Table
              caption={t.costsByAgent}
              rows={s.agents}
              rowKey={(a) => a.agentId}
              columns={[
                { label: t.agent, cell: (a) => <AgentLink id={a.agentId} name={a.name} /> },
                {
                  label: t.costs,
                  num: true,
                  cell: (a) => a.totals.map((sum) => `${formatAmount(sum.amount)} ${sum.currency}`).join(' · '),
                },
                { label: t.tokens, num: true, cell: (a) => formatNumber(a.tokens) },
              ]}
            />
          )
        }
      </Result>
    </Section>
  );
}
