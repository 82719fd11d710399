import { t } from '../texts/index.ts';
import { formatNumber, formatTime } from './text.tsx';

export interface Bar {
  readonly from: string;
  readonly to: string;
  readonly allowed: number;
  readonly denied: number;
  readonly limited: number;
}

/** Decisions over time by result. Each bar is a button that opens its span; a table has the same numbers. */
export function Bars({ bars, open }: { bars: readonly Bar[]; open: (bar: Bar) => void }) {
  const top = Math.max(1, ...bars.map((b) => b.allowed + b.denied + b.limited));
  const height = (count: number) => ({ height: count === 0 ? 0 : `max(2px, ${(count / top) * 100}%)` });
  const say = (b: Bar): string => `${formatTime(b.from)}: ${t.counts(b.allowed, b.denied, b.limited)}`;
  const [firstBar, last] = [bars[0], bars.at(-1)];
  const total = bars.reduce((n, b) => n + b.allowed + b.denied + b.limited, 0);
  return (
    <div>
      <p className="sr">{t.chartSummary(total)}</p>
      <div className="bars" aria-hidden="true">
        {bars.map((b) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: a bar is too narrow for a target; the table below has a button for each.
          <div key={b.from} title={say(b)} onClick={() => open(b)}>
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
      <details className="small">
        <summary>{t.asTable}</summary>
        <table>
          <thead>
            <tr>
              {[t.time, t.status.allowed, t.status.denied, t.status.rate_limited].map((label) => (
                <th key={label} scope="col">
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
                <td>{b.allowed}</td>
                <td>{b.denied}</td>
                <td>{b.limited}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  );
}
