import type { Agent } from 'legate/client';
import { useMemo } from 'react';
import { legate, rights, serverNow } from '../api.ts';
import { Chips, Segments } from '../parts/chips.tsx';
import { Field, useKept } from '../parts/hooks.tsx';
import { Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import type { Problem } from './permission-check.ts';
import { DAYS, type Draft, permissionOf, sentenceOf } from './permission-draft.ts';

const MONTH_MS = 30 * 86_400_000;
const HOUR_MS = 3_600_000;

/** Suggested resources and actions: the tools of servers, and what the agent requested within a month. */
export interface Known {
  readonly resources: readonly string[];
  readonly actions: readonly string[];
}

export function useKnown(agent: Agent): Known {
  const found = useKept(['agents', 'known', agent.id], async () => {
    const since = new Date(Math.floor(serverNow() / HOUR_MS) * HOUR_MS - MONTH_MS).toISOString();
    const facet = (by: 'resource' | 'action') =>
      legate.audit.facets({ by, agentId: [agent.id], since, limit: 100 } as never);
    const [servers, resources, actions] = await Promise.all([
      rights.all ? legate.mcp.servers.list({ limit: 100 }).page() : undefined,
      facet('resource'),
      facet('action'),
    ]);
    const tools = (servers?.items ?? []).flatMap((s) => s.tools.map((tool) => `mcp:${s.name}:${tool}`));
    return {
      resources: [...new Set([...tools, ...resources.values.map((v) => v.value)])],
      actions: actions.values.map((v) => v.value),
    };
  });
  return useMemo(() => {
    const { resources = [], actions = [] } = found.data ?? {};
    return {
      resources: [...resources, ...agent.permissions.map((p) => p.resource)],
      actions: [
        ...new Set([...actions, ...agent.permissions.flatMap((p) => p.actions), 'execute', 'read', 'write', '*']),
      ],
    };
  }, [found.data, agent.permissions]);
}

/** One permission with a control for each of its conditions. */
export function Entry({
  number,
  draft,
  lints,
  problems,
  known,
  change,
  remove,
}: {
  number: number;
  draft: Draft;
  lints: readonly (keyof typeof t.lints)[];
  problems: readonly Problem[];
  known: Known;
  change: (patch: Partial<Draft>) => void;
  remove: () => void;
}) {
  return (
    <fieldset className="entry">
      <legend className="sr">{t.entry(number)}</legend>
      <Segments
        label={t.resource}
        hint={t.resourceHint}
        value={draft.resource}
        known={known.resources}
        onChange={(resource) => change({ resource })}
      />
      <Chips
        label={t.actions}
        hint={t.actionsHint}
        values={draft.actions}
        known={known.actions}
        onChange={(actions) => change({ actions })}
      />
      <details open={permissionOf(draft).constraints !== undefined}>
        <summary>{t.conditions}</summary>
        <div className="form">
          <div className="grid2">
            <Field label={t.capPerHour} hint={t.capHint}>
              {(id) => (
                <input
                  id={id}
                  type="number"
                  min="0"
                  value={draft.cap}
                  onChange={(e) => change({ cap: e.target.value })}
                />
              )}
            </Field>
            <Chips label={t.ipAllowlist} hint={t.listHint} values={draft.ips} onChange={(ips) => change({ ips })} />
          </div>
          <Chips
            spaces
            label={t.argPatterns}
            hint={t.argPatternsHint}
            values={draft.patterns}
            onChange={(patterns) => change({ patterns })}
          />
          <TimeWindow draft={draft} change={change} />
          <label className="check">
            <input type="checkbox" checked={draft.approval} onChange={(e) => change({ approval: e.target.checked })} />
            {t.requireApproval}
          </label>
        </div>
      </details>
      {draft.resource !== '' && draft.actions.length > 0 && (
        <p className="quiet">
          <Untrusted>{sentenceOf(permissionOf(draft))}</Untrusted>
        </p>
      )}
      {problems.map(({ field, text }) => (
        <p className="notice error" key={text}>
          {(field !== undefined && (t.fieldProblems as Record<string, string>)[field]) || text}
        </p>
      ))}
      {lints.map((code) => (
        <p className="notice warning" key={code}>
          {t.lints[code]}
        </p>
      ))}
      <div className="actions">
        <button type="button" className="button" onClick={remove}>
          {t.removeEntry(number)}
        </button>
      </div>
    </fieldset>
  );
}

function TimeWindow({ draft: { window }, change }: { draft: Draft; change: (patch: Partial<Draft>) => void }) {
  const set = (patch: Partial<NonNullable<Draft['window']>>): void =>
    change({ window: { start: '', end: '', zone: '', days: [], ...window, ...patch } });
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          checked={window !== undefined}
          onChange={(e) =>
            e.target.checked
              ? set({ start: '09:00', end: '17:00', zone: ZONE })
              : change({ window: undefined as never })
          }
        />
        {t.onlyAtTimes}
      </label>
      {window && (
        <>
          <div className="grid2">
            <Field label={t.windowStart}>
              {(id) => (
                <input id={id} type="time" value={window.start} onChange={(e) => set({ start: e.target.value })} />
              )}
            </Field>
            <Field label={t.windowEnd}>
              {(id) => <input id={id} type="time" value={window.end} onChange={(e) => set({ end: e.target.value })} />}
            </Field>
            <Field label={t.timeZone}>
              {(id) => (
                <>
                  <input
                    id={id}
                    list={`${id}zones`}
                    placeholder="UTC"
                    value={window.zone}
                    onChange={(e) => set({ zone: e.target.value })}
                  />
                  <datalist id={`${id}zones`}>
                    {Intl.supportedValuesOf('timeZone').map((zone) => (
                      <option key={zone} value={zone} />
                    ))}
                  </datalist>
                </>
              )}
            </Field>
          </div>
          <fieldset className="days">
            <legend>{t.onDays}</legend>
            {DAYS.map((day) => (
              <label className="check" key={day}>
                <input
                  type="checkbox"
                  checked={window.days.includes(day)}
                  onChange={(e) =>
                    set({ days: e.target.checked ? [...window.days, day] : window.days.filter((one) => one !== day) })
                  }
                />
                {t.dayNames[day]}
              </label>
            ))}
          </fieldset>
        </>
      )}
    </>
  );
}

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
