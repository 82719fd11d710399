import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { DelegationGraph } from 'legate/client';
import { useState } from 'react';
import { CONSOLE, legate, queries, rights } from '../api.ts';
import { DelegationTable } from '../parts/delegations.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field, useAddress, useKept, useNames } from '../parts/hooks.tsx';
import { Empty, ErrorNotice, Result, Screen, Section } from '../parts/screen.tsx';
import { visible } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { Narrowing } from './narrowing.tsx';

/** Above this number the picture is left out; the table has everything. */
const MAX_DRAWN = 300;
const PHONE_PX = 480;

export function Delegations() {
  const [{ ended, link }, setAddress] = useAddress();
  const [creating, setCreating] = useState(false);
  const graph = useKept(['delegations', 'graph', ended], () => legate.delegations.graph({ ended: ended === 'true' }));
  return (
    <Screen
      title={t.nav.delegations}
      curl={`/delegations/graph${ended === 'true' ? '?ended=true' : ''}`}
      actions={
        rights.write && (
          <button type="button" className="button primary" onClick={() => setCreating(true)}>
            {t.delegate}
          </button>
        )
      }
    >
      <label className="check">
        <input
          type="checkbox"
          checked={ended === 'true'}
          onChange={(e) => setAddress({ ended: e.target.checked ? 'true' : undefined })}
        />
        {t.withEnded}
      </label>
      <Result of={graph} lines={6}>
        {(data) =>
          data.delegations.length === 0 ? (
            <Empty>{t.noDelegations}</Empty>
          ) : (
            <>
              {!data.complete && <p className="notice warning">{t.graphIncomplete}</p>}
              {data.agents.length <= MAX_DRAWN ? (
                // A picture of several columns does not fit on a phone: there the table comes first.
                <details open={innerWidth >= PHONE_PX}>
                  <summary>{t.picture}</summary>
                  <Picture graph={data} link={link} choose={(id) => setAddress({ link: id })} />
                </details>
              ) : (
                <p className="hint">{t.tooManyToDraw}</p>
              )}
              {link && data.delegations.some((d) => d.id === link) && <Narrowing id={link} />}
              <Section title={t.asTable}>
                <DelegationTable graph={data} look={(id) => setAddress({ link: id })} />
              </Section>
            </>
          )
        }
      </Result>
      {creating && <Create close={() => setCreating(false)} />}
    </Screen>
  );
}

const WIDTH = 168;
const HEIGHT = 36;
const GAP = { x: 72, y: 16 };

/** An agent or a person in the picture. */
interface Node {
  readonly id: string;
  readonly label: string;
  readonly to: string;
  readonly off: boolean;
}

/** People and agents in columns: each stands to the right of all that act before it. */
function Picture({
  graph: { agents, delegations },
  link,
  choose,
}: {
  graph: DelegationGraph;
  link: string | undefined;
  choose: (id: string) => void;
}) {
  const navigate = useNavigate();
  const nameOf = useNames(agents.map((a) => a.ownerId));
  const given = new Set(delegations.map((d) => d.toAgent));
  // A chain begins with the person whose agent delegates first.
  const roots = agents.filter((a) => a.ownerId !== null && !given.has(a.id));
  const people = [...new Set(roots.map((a) => a.ownerId as string))];
  const nodes: readonly Node[] = [
    ...people.map((id) => ({ id, label: visible(nameOf(id) ?? id), to: `/people/users/${id}`, off: false })),
    ...agents.map(({ id, name, status }) => ({
      id,
      label: visible(name ?? id),
      to: `/agents/${id}`,
      off: status !== 'active',
    })),
  ];
  const edges = [
    ...roots.map((a) => ({ id: a.id, fromAgent: a.ownerId as string, toAgent: a.id, active: true, owns: true })),
    ...delegations.map((d) => ({ ...d, owns: false })),
  ];
  const column = new Map(nodes.map((a) => [a.id, 0]));
  // The longest path; as many rounds as there are columns, at most as many as there are agents.
  for (let round = 0, moved = true; moved && round < nodes.length; round++) {
    moved = false;
    for (const { fromAgent, toAgent } of edges) {
      const right = Math.min((column.get(fromAgent) ?? 0) + 1, 12);
      if ((column.get(toAgent) ?? 0) < right) {
        column.set(toAgent, right);
        moved = true;
      }
    }
  }
  const rows: number[] = [];
  const at = new Map(
    nodes.map(({ id }) => {
      const x = column.get(id) ?? 0;
      rows[x] = (rows[x] ?? 0) + 1;
      return [id, { x: 8 + x * (WIDTH + GAP.x), y: 8 + ((rows[x] ?? 1) - 1) * (HEIGHT + GAP.y) }] as const;
    }),
  );
  const width = rows.length * (WIDTH + GAP.x) - GAP.x + 16;
  const height = Math.max(...rows.filter(Boolean)) * (HEIGHT + GAP.y) - GAP.y + 16;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard.
    <section className="graph" tabIndex={0} aria-label={t.graphLabel}>
      <svg width={width} height={height}>
        <title>{t.graphLabel}</title>
        {edges.map(({ id, fromAgent, toAgent, active, owns }) => {
          const [from, to] = [at.get(fromAgent), at.get(toAgent)];
          if (!from || !to) return null;
          const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
          const d = `M${x1} ${y1}C${x1 + GAP.x / 2} ${y1} ${x2 - GAP.x / 2} ${y2} ${x2} ${y2}`;
          const kind = [owns && 'owns', !active && 'off', id === link && 'chosen'].filter(Boolean).join(' ');
          return (
            <g key={`${fromAgent} ${id}`}>
              <path className={kind} d={d} />
              {!owns && (
                // biome-ignore lint/a11y/noStaticElementInteractions: the table below has a button for each link.
                <path className="target" d={d} onClick={() => choose(id)} />
              )}
            </g>
          );
        })}
        {nodes.map(({ id, label, to, off }) => {
          const { x, y } = at.get(id) as { x: number; y: number };
          return (
            <a
              key={id}
              href={`${CONSOLE}${to}`}
              className={off ? 'off' : undefined}
              aria-label={label}
              onClick={(e) => {
                e.preventDefault();
                void navigate({ to });
              }}
            >
              <title>{label}</title>
              <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx="4" />
              <text x={x + 10} y={y + 22}>
                {[...label].length > 22 ? `${[...label].slice(0, 21).join('')}…` : label}
              </text>
            </a>
          );
        })}
      </svg>
    </section>
  );
}

function Create({ close }: { close: () => void }) {
  const [typed, setTyped] = useState({ from: '', to: '', resource: '', actions: '' });
  const agents = useKept(
    ['agents', 'choices'],
    async () =>
      (await legate.agents.list({ view: 'summary', status: 'active', sort: 'name', limit: 200 }).page()).items,
  );
  const create = useMutation({
    mutationFn: () =>
      legate.delegations.create({
        fromAgent: typed.from,
        toAgent: typed.to,
        permissions: [{ resource: typed.resource.trim(), actions: typed.actions.split(/[\s,]+/).filter(Boolean) }],
      }),
    onSuccess: () => {
      for (const key of ['delegations', 'agents']) void queries.invalidateQueries({ queryKey: [key] });
      close();
    },
  });
  return (
    <Dialog title={t.delegate} close={close}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault();
          create.mutate();
        }}
      >
        <datalist id="agents">
          {(agents.data ?? []).map((a) => (
            <option key={a.id} value={a.id}>
              {visible(a.name)}
            </option>
          ))}
        </datalist>
        {(['from', 'to'] as const).map((end) => (
          <Field key={end} label={t[end]} hint={t.agentIdHint}>
            {(id) => (
              <input
                id={id}
                className="mono"
                list="agents"
                required
                value={typed[end]}
                onChange={(e) => setTyped({ ...typed, [end]: e.target.value })}
              />
            )}
          </Field>
        ))}
        <Field label={t.resource} hint={t.resourceHint}>
          {(id) => (
            <input
              id={id}
              className="mono"
              required
              value={typed.resource}
              onChange={(e) => setTyped({ ...typed, resource: e.target.value })}
            />
          )}
        </Field>
        <Field label={t.actions} hint={t.actionsHint}>
          {(id) => (
            <input
              id={id}
              className="mono"
              required
              value={typed.actions}
              onChange={(e) => setTyped({ ...typed, actions: e.target.value })}
            />
          )}
        </Field>
        {create.error && <ErrorNotice error={create.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={close}>
            {t.cancel}
          </button>
          <button type="submit" className="button primary" disabled={create.isPending}>
            {t.delegate}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
