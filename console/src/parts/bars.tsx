import { useRef, useState } from 'react';
import { t } from '../texts/index.ts';
import { Scrolled } from './table.tsx';
import { formatNumber, formatTime } from './text.tsx';

export interface Bar {
  readonly from: string;
  readonly to: string;
  readonly allowed: number;
  readonly denied: number;
  readonly limited: number;
}

/**
 * Decisions over time by result. A period is selected by dragging over the bars or with the two sliders; a table has
 * the same numbers.
 */
export function Bars({ bars, open }: { bars: readonly Bar[]; open: (span: { from: string; to: string }) => void }) {
  const top = Math.max(0, ...bars.map((b) => b.allowed + b.denied + b.limited));
  const height = (count: number) => ({ height: count === 0 ? 0 : `max(2px, ${(count / top) * 100}%)` });
  const say = (b: Bar): string => `${formatTime(b.from)}: ${t.counts(b.allowed, b.denied, b.limited)}`;
  const [firstBar, last] = [bars[0], bars.at(-1)];
  const total = bars.reduce((n, b) => n + b.allowed + b.denied + b.limited, 0);
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const place = (x: number): number => {
    const { left, width } = (box.current as HTMLElement).getBoundingClientRect();
    return Math.max(0, Math.min(bars.length - 1, Math.floor(((x - left) / width) * bars.length)));
  };
  const choose = (a: number, b: number): void => {
    const [from, to] = [bars[Math.min(a, b)], bars[Math.max(a, b)]];
    if (from && to) open({ from: from.from, to: to.to });
  };
  const inside = (i: number): boolean =>
    drag !== undefined && i >= Math.min(drag.from, drag.to) && i <= Math.max(drag.from, drag.to);
  return (
    <div>
      <p className="sr">{t.chartSummary(total)}</p>
      <div
        ref={box}
        className="bars"
        aria-hidden="true"
        onPointerDown={(e) => {
          if (e.button !== 0) return;
          e.currentTarget.setPointerCapture(e.pointerId);
          setDrag({ from: place(e.clientX), to: place(e.clientX) });
        }}
        onPointerMove={(e) => drag && setDrag({ ...drag, to: place(e.clientX) })}
        onPointerCancel={() => setDrag(undefined)}
        onPointerUp={() => {
          if (drag) choose(drag.from, drag.to);
          setDrag(undefined);
        }}
      >
        {bars.map((b, i) => (
          <div key={b.from} title={say(b)} className={inside(i) ? 'chosen' : undefined}>
            <i className="b-denied" style={height(b.denied)} />
            <i className="b-limited" style={height(b.limited)} />
            <i className="b-allowed" style={height(b.allowed)} />
          </div>
        ))}
      </div>
      {firstBar && last && (
        <div className="axis">
          <span>{formatTime(firstBar.from)}</span>
          <span>{t.peak(formatNumber(top))}</span>
          <span>{formatTime(last.to)}</span>
        </div>
      )}
      {bars.length > 1 && <Handles key={`${firstBar?.from} ${bars.length}`} bars={bars} choose={choose} />}
      <details className="small">
        <summary>{t.asTable}</summary>
        <Scrolled label={t.asTable}>
          <table>
            <thead>
              <tr>
                {[t.time, t.status.allowed, t.status.denied, t.status.rate_limited].map((label, i) => (
                  <th key={label} scope="col" className={i > 0 ? 'num' : undefined}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {bars.map((b) => (
                <tr key={b.from}>
                  <td>
                    <button type="button" className="button plain" onClick={() => open(b)}>
                      {formatTime(b.from)}
                    </button>
                  </td>
                  <td className="num">{formatNumber(b.allowed)}</td>
                  <td className="num">{formatNumber(b.denied)}</td>
                  <td className="num">{formatNumber(b.limited)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolled>
      </details>
    </div>
  );
}

/** Two sliders for the period, for people without a pointer. */
function Handles({ bars, choose }: { bars: readonly Bar[]; choose: (from: number, to: number) => void }) {
  const end = bars.length - 1;
  const [from, setFrom] = useState(0);
  const [to, setTo] = useState(end);
  const slider = (label: string, value: number, set: (value: number) => void, time: string | undefined) => (
    <input
      type="range"
      min={0}
      max={end}
      value={value}
      aria-label={label}
      aria-valuetext={time && formatTime(time)}
      onChange={(e) => set(e.target.valueAsNumber)}
    />
  );
  return (
    <details className="small">
      <summary>{t.chooseSpan}</summary>
      <div className="grid2">
        {slider(t.spanFrom, from, (v) => setFrom(Math.min(v, to)), bars[from]?.from)}
        {slider(t.spanTo, to, (v) => setTo(Math.max(v, from)), bars[to]?.to)}
      </div>
      <p className="actions">
        {t.range(formatTime(bars[from]?.from ?? ''), formatTime(bars[to]?.to ?? ''))}
        <button type="button" className="button" onClick={() => choose(from, to)}>
          {t.showSpan}
        </button>
      </p>
    </details>
  );
}
