import type { AuditFacets, AuditHistogram } from 'legate/client';
import { memo, useCallback, useState } from 'react';
import { legate, queries, REST, rights } from '../api.ts';
import { useNewDecisions } from '../live.ts';
import { Bars } from '../parts/bars.tsx';
import { EntryTable } from '../parts/entries.tsx';
import { FilterForm, keysText, UnknownWords } from '../parts/filter-form.tsx';
import { NoDecisions } from '../parts/first-steps.tsx';
import { Select, useAddress, useKept, useNames } from '../parts/hooks.tsx';
import { Empty, Result, Screen, Section } from '../parts/screen.tsx';
import { EmptyPage, Pager } from '../parts/table.tsx';
import { formatNumber, formatTime, Untrusted, visible } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { FILTER_KEYS, parseFilter, withFilter } from './audit-filter.ts';
import { Tail } from './audit-tail.tsx';

const FACETS = ['reason', 'action', 'resource', 'agentId', 'ip'] as const;
type Facet = (typeof FACETS)[number];

export function Audit() {
  const [{ q = '', since, until, cursor, by = 'reason', chart, follow }, setAddress] = useAddress();
  const { query, unknown } = parseFilter(q);
  const filter = { ...query, ...(since && { since }), ...(until && { until }) } as Parameters<
    typeof legate.audit.list
  >[0];
  const entries = useKept(['audit', 'list', q, since, until, cursor], () =>
    legate.audit.list({ ...filter, order: 'desc', limit: 50 }).page(cursor),
  );
  const rows = entries.data !== undefined;
  const histogram = useKept(
    ['histogram', q, since, until],
    () => legate.audit.histogram({ ...filter, buckets: 60 } as never),
    rows && chart !== 'off',
  );
  const facet = FACETS.find((name) => name === by) ?? 'reason';
  const facets = useKept(
    ['facets', q, since, until, facet],
    () => legate.audit.facets({ ...filter, by: facet, limit: 12 } as never),
    rows,
  );
  const apply = useCallback((next: string): void => setAddress({ q: next, cursor: undefined }), [setAddress]);
  const add = useCallback((...args: [string, string, boolean]): void => apply(withFilter(q, ...args)), [apply, q]);
  const openBar = useCallback(
    (bar: { from: string; to: string }): void => setAddress({ since: bar.from, until: bar.to, cursor: undefined }),
    [setAddress],
  );
  const reload = (): void => {
    for (const key of ['audit', 'histogram', 'facets', 'ledger']) void queries.invalidateQueries({ queryKey: [key] });
    // New decisions are on the first page.
    if (cursor) setAddress({ cursor: undefined });
  };
  return (
    <Screen
      title={t.nav.audit}
      curl={`/audit?${addressOf(query, since, until)}`}
      actions={(['csv', 'json'] as const).map((format) => (
        <a
          key={format}
          className="button"
          download
          href={`${REST}/audit/export?format=${format}&${addressOf(query, since, until)}`}
        >
          {t.exportAs(format.toUpperCase())}
        </a>
      ))}
    >
      <FilterForm q={q} apply={apply} hint={t.filterHint(keysText(FILTER_KEYS))} />
      {rights.all && <Sealed />}
      <UnknownWords words={unknown} />
      {(since || until) && (
        <p className="actions">
          {t.range(since ? formatTime(since) : '…', until ? formatTime(until) : '…')}
          <button
            type="button"
            className="button"
            onClick={() => setAddress({ since: undefined, until: undefined, cursor: undefined })}
          >
            {t.wholeRange}
          </button>
        </p>
      )}
      {!entries.isLoadingError && (
        <details
          open={chart !== 'off'}
          onToggle={(e) => setAddress({ chart: e.currentTarget.open ? undefined : 'off' })}
        >
          <summary>{t.decisionsOverTime}</summary>
          {chart !== 'off' && (
            <Result of={histogram} lines={3}>
              {({ buckets }) => <Histogram buckets={buckets} open={openBar} />}
            </Result>
          )}
        </details>
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={follow === 'on'}
          onChange={(e) => setAddress({ follow: e.target.checked ? 'on' : undefined })}
        />
        {t.follow}
      </label>
      {follow === 'on' ? (
        <Section title={t.newDecisions}>
          <Tail filter={streamed(query)} />
        </Section>
      ) : (
        <Section title={t.decisions} aside={<News counted={!q && !until} reload={reload} />}>
          <Result of={entries} lines={8}>
            {({ items, next }) =>
              items.length === 0 ? (
                q || since || until || cursor ? (
                  <EmptyPage cursor={cursor}>{t.nothingFits}</EmptyPage>
                ) : (
                  <NoDecisions />
                )
              ) : (
                <>
                  <ErasedNotice count={items.filter(({ erased }) => erased).length} />
                  <EntryTable entries={items} />
                  <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
                </>
              )
            }
          </Result>
        </Section>
      )}
      {!entries.isLoadingError && (
        <Section
          title={t.values}
          aside={
            <Select
              label={t.valuesOf}
              value={facet}
              options={FACETS.map((name) => [name, t.facets[name]] as const)}
              onChange={(value) => setAddress({ by: value })}
            />
          }
        >
          <Result of={facets}>{(data) => <Facets data={data} by={facet} add={add} />}</Result>
        </Section>
      )}
    </Screen>
  );
}

const Histogram = memo(function Histogram({
  buckets,
  open,
}: {
  buckets: AuditHistogram['buckets'];
  open: (span: { from: string; to: string }) => void;
}) {
  return (
    <Bars
      bars={buckets.map(({ since: from, until: to, counts }) => ({
        from,
        to,
        allowed: counts.allowed,
        denied: counts.denied,
        limited: counts.rate_limited,
      }))}
      open={open}
    />
  );
});

/** Returns the query of a request with this filter. */
function addressOf(query: Readonly<Record<string, readonly string[]>>, since?: string, until?: string): string {
  const params = new URLSearchParams({ order: 'desc' });
  for (const [name, values] of Object.entries(query)) for (const value of values) params.append(name, value);
  if (since) params.set('since', since);
  if (until) params.set('until', until);
  return params.toString();
}

/** The filters that the event stream also supports: all except times. */
const streamed = (query: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(query).filter(([name]) => name !== 'since' && name !== 'until'));

const ErasedNotice = ({ count }: { count: number }) =>
  count > 0 ? <p className="notice">{t.erasedOnPage(count)}</p> : null;

/**
 * New entries do not move the rows under the pointer; they wait for a click. They are counted before the filter, so
 * with a filter there is no number.
 */
function News({ counted, reload }: { counted: boolean; reload: () => void }) {
  const seen = useNewDecisions();
  const [shown, setShown] = useState(seen);
  return seen > shown ? (
    <button
      type="button"
      className="button"
      onClick={() => {
        setShown(seen);
        reload();
      }}
    >
      {counted ? t.newEntries(formatNumber(seen - shown)) : t.seekNew}
    </button>
  ) : null;
}

const Facets = memo(function Facets({
  data,
  by,
  add,
}: {
  data: AuditFacets;
  by: Facet;
  add: (key: string, value: string, exclude: boolean) => void;
}) {
  const nameOf = useNames(by === 'agentId' ? data.values.map((v) => v.value) : []);
  const key = by === 'agentId' ? 'agent' : by;
  const reasons: Record<string, string> = by === 'reason' ? t.reasons : {};
  const labelOf = (value: string): string => reasons[value] ?? nameOf(value) ?? value;
  if (data.values.length === 0) return <Empty>{t.noValues}</Empty>;
  return (
    <ul className="form">
      {data.values.map(({ value, count }) => (
        <li key={value} className="grid2">
          <span>
            <Untrusted mono={by !== 'reason'}>{labelOf(value)}</Untrusted>
            <span className="sharebox" aria-hidden="true">
              <span className="share" style={{ width: `${(count / Math.max(1, data.total)) * 100}%` }} />
            </span>
          </span>
          <span className="actions">
            {formatNumber(count)}
            <button
              type="button"
              className="button plain"
              aria-label={t.onlyThis(visible(labelOf(value)))}
              onClick={() => add(key, value, false)}
            >
              {t.only}
            </button>
            <button
              type="button"
              className="button plain"
              aria-label={t.withoutThis(visible(labelOf(value)))}
              onClick={() => add(key, value, true)}
            >
              {t.without}
            </button>
          </span>
        </li>
      ))}
    </ul>
  );
});

/** How much of the ledger is sealed. */
function Sealed() {
  const status = useKept(['ledger', 'status'], () => legate.ledger.status());
  if (!status.data?.origin) return null;
  const { halted, signedSize, head } = status.data;
  return (
    <p className={halted === null ? 'hint' : 'notice warning'}>
      {halted === null ? t.sealedUpTo(formatNumber(signedSize), formatNumber(head)) : t.sealHalted}
    </p>
  );
}
