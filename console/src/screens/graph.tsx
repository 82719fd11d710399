import { useNavigate } from '@tanstack/react-router';
import type { DelegationGraph } from 'legate/client';
import { Fragment, useState } from 'react';
import { CONSOLE } from '../api.ts';
import { useNames } from '../parts/hooks.tsx';
import { visible } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { foldGraph } from './fold.ts';

const WIDTH = 168;
const HEIGHT = 36;
const GAP = { x: 56, y: 16 };

/** An agent or a person in the graph. */
interface Node {
  readonly id: string;
  readonly label: string;
  readonly to: string;
  readonly off: boolean;
}

/** Above this number, followers are collapsed. The table shows all. */
const MAX_DRAWN = 300;

/** People and agents in columns: each is to the right of all that act before it. */
export function Picture({
  graph: { agents, delegations },
  link,
  choose,
}: {
  graph: DelegationGraph;
  link: string | undefined;
  choose: (id: string) => void;
}) {
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const nameOf = useNames(agents.map((a) => a.ownerId));
  const given = new Set(delegations.map((d) => d.toAgent));
  // A chain begins with the owner of the first delegating agent.
  const roots = agents.filter((a) => a.ownerId !== null && !given.has(a.id));
  const people = [...new Set(roots.map((a) => a.ownerId as string))];
  const all: readonly Node[] = [
    ...people.map((id) => ({ id, label: visible(nameOf(id) ?? id), to: `/people/users/${id}`, off: false })),
    ...agents.map(({ id, name, status }) => ({
      id,
      label: visible(name ?? id),
      to: `/agents/${id}`,
      off: status !== 'active',
    })),
  ];
  const links = [
    ...roots.map((a) => ({ id: a.id, fromAgent: a.ownerId as string, toAgent: a.id, active: true, owns: true })),
    ...delegations.map((d) => ({ ...d, owns: false })),
  ];
  const { shown, followers, open } = foldGraph(
    all.map(({ id }) => id),
    links.map(({ fromAgent, toAgent }) => ({ from: fromAgent, to: toAgent })),
    MAX_DRAWN,
    chosen,
  );
  const nodes = all.filter(({ id }) => shown.has(id));
  const edges = links.filter(({ fromAgent, toAgent }) => open.has(fromAgent) && shown.has(toAgent));
  const folds = shown.size < all.length || chosen.size > 0;
  const column = new Map(nodes.map((a) => [a.id, 0]));
  // Computes the longest paths. There are as many rounds as columns, and at most as many as agents.
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
  // With room for the buttons of the last column.
  const width = rows.length * (WIDTH + GAP.x) + 16;
  const height = Math.max(...rows.filter(Boolean)) * (HEIGHT + GAP.y) - GAP.y + 16;
  return (
    <>
      {folds && <p className="hint">{t.folded(shown.size, all.length)}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable with the keyboard. */}
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
            const count = folds ? (followers.get(id) ?? 0) : 0;
            return (
              <Fragment key={id}>
                <a
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
                {count > 0 && (
                  <FoldButton
                    x={x + WIDTH + 8}
                    y={y + 6}
                    text={open.has(id) ? '−' : `+${count}`}
                    label={open.has(id) ? t.fold(label) : t.unfold(count, label)}
                    press={() => setChosen(new Map([...chosen, [id, !open.has(id)]]))}
                  />
                )}
              </Fragment>
            );
          })}
        </svg>
      </section>
    </>
  );
}

function FoldButton({
  x,
  y,
  text,
  label,
  press,
}: {
  x: number;
  y: number;
  text: string;
  label: string;
  press: () => void;
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: an SVG has no buttons.
    <g
      role="button"
      tabIndex={0}
      className="fold"
      aria-label={label}
      onClick={press}
      onKeyDown={(e) => {
        if (e.key !== 'Enter' && e.key !== ' ') return;
        e.preventDefault();
        press();
      }}
    >
      <title>{label}</title>
      <rect x={x} y={y} width="40" height="24" rx="12" />
      <text x={x + 20} y={y + 16} textAnchor="middle">
        {text}
      </text>
    </g>
  );
}
