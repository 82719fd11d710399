import type { AgentSummary } from 'legate/client';
import { createContext, memo, useContext, useMemo, useState } from 'react';
import { legate, rights, serverNow } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { AgentLink, PersonLink, SearchField, Select, useAddress, useKept, useNames } from '../parts/hooks.tsx';
import { Result, Screen } from '../parts/screen.tsx';
import { EmptyPage, Pager, Table } from '../parts/table.tsx';
import { formatNumber, Status, Time, Untrusted, visible } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { RegisterAgent } from './agent-forms.tsx';

type Sort = '-calls' | '-refused' | 'name' | '-createdAt' | '-lastDecisionAt';
type State = 'active' | 'revoked' | 'expired';
const SORTS: readonly Sort[] = ['-createdAt', 'name', '-calls', '-refused', '-lastDecisionAt'];

const WEEK_MS = 7 * 86_400_000;
/** Agents that the service revokes with one request. */
const MAX_SELECTED = 100;

type Selection = ReadonlyMap<string, string>;
type Choice = readonly [selected: Selection, select: (selection: Selection) => void];
const SelectionContext = createContext<Choice>([new Map(), () => {}]);

export function Agents() {
  const [{ q = '', status = '', sort, cursor, expires }, setAddress] = useAddress();
  const soon = expires === 'soon';
  // Only active agents can still expire.
  const state = soon ? 'active' : (status as State | '');
  const order = SORTS.find((s) => s === sort) ?? '-createdAt';
  const agents = useKept(['agents', 'list', q, state, order, cursor, soon], () =>
    legate.agents
      .list({
        view: 'summary',
        sort: order,
        limit: 50,
        ...(q && { q }),
        ...(state && { status: state }),
        ...(soon && { expiresBefore: new Date(serverNow() + WEEK_MS) }),
      })
      .page(cursor),
  );
  /** The names of the selected agents by id, across all pages. */
  const [selected, select] = useState<Selection>(new Map());
  const choice = useMemo((): Choice => [selected, select], [selected]);
  const query = new URLSearchParams({
    view: 'summary',
    sort: order,
    ...(q && { q }),
    ...(state && { status: state }),
    ...(soon && { expiresBefore: new Date(serverNow() + WEEK_MS).toISOString() }),
  });
  return (
    <Screen title={t.nav.agents} curl={`/agents?${query}`} actions={rights.write && <RegisterAgent />}>
      <div className="filters">
        <SearchField label={t.searchName} value={q} onChange={(text) => setAddress({ q: text, cursor: undefined })} />
        <Select
          label={t.state}
          value={state}
          options={[
            ['', t.any],
            ['active', t.status.active],
            ['revoked', t.status.revoked],
            ['expired', t.status.expired],
          ]}
          onChange={(value) => setAddress({ status: value, expires: undefined, cursor: undefined })}
        />
        <Select
          label={t.sort}
          value={order}
          options={SORTS.map((s) => [s, t.sorts[s]] as const)}
          onChange={(value) => setAddress({ sort: value, cursor: undefined })}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={soon}
            onChange={(e) => setAddress({ expires: e.target.checked ? 'soon' : undefined, cursor: undefined })}
          />
          {t.expiresSoon}
        </label>
      </div>
      <Result of={agents} lines={8}>
        {({ items, next, total }) =>
          items.length === 0 ? (
            <EmptyPage cursor={cursor}>{q || state ? t.nothingFits : t.noAgents}</EmptyPage>
          ) : (
            <>
              {rights.write && (
                <Several page={items.filter((a) => a.status !== 'revoked')} selected={selected} select={select} />
              )}
              <SelectionContext value={choice}>
                <AgentTable agents={items} />
              </SelectionContext>
              <Pager next={next} cursor={cursor} total={total} go={(c) => setAddress({ cursor: c })} />
            </>
          )
        }
      </Result>
    </Screen>
  );
}

/** Rows are rendered again only when their agents change, not after input above or a selection. */
const AgentTable = memo(function AgentTable({ agents }: { agents: readonly AgentSummary[] }) {
  const nameOf = useNames(agents.map((a) => a.ownerId));
  return (
    <Table
      caption={t.nav.agents}
      rows={agents}
      rowKey={(a) => a.id}
      columns={[
        ...(rights.write
          ? [
              {
                label: t.select,
                cell: (a: AgentSummary) => a.status !== 'revoked' && <SelectAgent agent={a} />,
              },
            ]
          : []),
        { label: t.name, cell: (a) => <AgentLink id={a.id} name={a.name} /> },
        { label: t.owner, cell: (a) => <PersonLink id={a.ownerId} name={nameOf(a.ownerId)} /> },
        { label: t.state, cell: (a) => <Status of={a.status} /> },
        {
          label: t.permissions,
          cell: (a) => (
            <>
              {formatNumber(a.permissionCount)} {a.unbounded && <span className="status limited">{t.unbounded}</span>}
            </>
          ),
        },
        {
          label: t.calls24,
          num: true,
          cell: (a) => (
            <span className="trend">
              <Trend hours={a.hours} />
              {formatNumber(a.calls)}
            </span>
          ),
        },
        { label: t.refused, num: true, cell: (a) => formatNumber(a.refused) },
        { label: t.lastDecision, cell: (a) => <Time at={a.lastDecisionAt} /> },
        { label: t.expires, cell: (a) => <Time at={a.expiresAt} /> },
      ]}
    />
  );
});

function SelectAgent({ agent }: { agent: AgentSummary }) {
  const [selected, select] = useContext(SelectionContext);
  return (
    <input
      type="checkbox"
      aria-label={t.selectAgent(visible(agent.name))}
      checked={selected.has(agent.id)}
      disabled={!selected.has(agent.id) && selected.size >= MAX_SELECTED}
      onChange={(e) => select(withAgents(selected, [agent], e.target.checked))}
    />
  );
}

function withAgents(selected: Selection, agents: readonly AgentSummary[], on: boolean): Selection {
  const next = new Map(selected);
  for (const { id, name } of agents) {
    if (!on) next.delete(id);
    else if (next.size < MAX_SELECTED) next.set(id, name);
  }
  return next;
}

/** Actions for the selected agents. */
function Several({
  page,
  selected,
  select,
}: {
  page: readonly AgentSummary[];
  selected: Selection;
  select: (selection: Selection) => void;
}) {
  const ids = [...selected.keys()];
  const all = page.length > 0 && page.every((a) => selected.has(a.id));
  return (
    <div className="actions">
      <label className="check">
        <input
          type="checkbox"
          checked={all}
          disabled={page.length === 0}
          onChange={(e) => select(withAgents(selected, page, e.target.checked))}
        />
        {t.selectPage}
      </label>
      <span className="quiet" role="status">
        {t.selectedCount(ids.length)}
        {ids.length >= MAX_SELECTED && ` ${t.selectedMost}`}
      </span>
      {ids.length > 0 && (
        <>
          <button type="button" className="button plain" onClick={() => select(new Map())}>
            {t.clearSelection}
          </button>
          <Action
            danger
            label={t.revokeSelected}
            question={t.revokeSeveral(ids.length)}
            text={
              <span className="tags">
                {[...selected].map(([id, name]) => (
                  <span className="tag" key={id}>
                    <Untrusted>{name}</Untrusted>
                  </span>
                ))}
              </span>
            }
            typed={{ agentIds: ids, name: t.agentCount(ids.length) }}
            preview={() => legate.agents.revokeMany({ agentIds: ids }, { preview: true })}
            run={(reason) => legate.agents.revokeMany({ agentIds: ids, ...(reason && { reason }) })}
            stale={['agents', 'delegations', 'changes', 'dashboard']}
            done={() => select(new Map())}
          />
        </>
      )}
    </div>
  );
}

/** Decisions per hour, with the refused ones at the bottom of each bar. The number is next to the bars. */
function Trend({ hours }: { hours: AgentSummary['hours'] }) {
  const top = Math.max(...hours.map((hour) => hour.calls));
  if (top === 0) return null;
  const height = (count: number): number => (count === 0 ? 0 : Math.max(1, (count / top) * 16));
  // One path for all bars of a color, because a page has fifty of these.
  const bars = (count: (hour: AgentSummary['hours'][number]) => number): string =>
    hours.map((hour, i) => (count(hour) === 0 ? '' : `M${i * 3} 16h2v-${height(count(hour))}h-2z`)).join('');
  return (
    <svg viewBox={`0 0 ${hours.length * 3} 16`} width={hours.length * 3} height="16" aria-hidden="true">
      <path d={bars(({ calls }) => calls)} fill="var(--chart)" />
      <path d={bars(({ refused }) => refused)} fill="var(--denied)" />
    </svg>
  );
}
