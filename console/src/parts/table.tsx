import { type ReactNode, useEffect, useRef, useState } from 'react';
import { t } from '../texts/index.ts';

export interface Column<T> {
  readonly label: string;
  readonly cell: (row: T) => ReactNode;
  readonly num?: boolean;
}

/** Content that is wider than the window scrolls and can then be reached with the keyboard. */
function Scrolled({ label, children }: { label: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [wider, setWider] = useState(false);
  useEffect(() => {
    const { current } = box;
    if (!current?.firstElementChild) return;
    const observer = new ResizeObserver(() => setWider(current.scrollWidth > current.clientWidth));
    observer.observe(current);
    observer.observe(current.firstElementChild);
    return () => observer.disconnect();
  }, []);
  return (
    <div className="scroll" ref={box} {...(wider && { tabIndex: 0, role: 'region', 'aria-label': label })}>
      {children}
    </div>
  );
}

/** A table of at most one page of rows, with links to the pages around it. On a phone each row is a block. */
export function Table<T>({
  caption,
  rows,
  columns,
  rowKey,
}: {
  caption: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  rowKey: (row: T, index: number) => string;
}) {
  return (
    <Scrolled label={caption}>
      <table className="stack">
        <caption className="sr">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ label, num }) => (
              <th key={label} scope="col" className={num ? 'num' : undefined}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowKey(row, index)}>
              {columns.map(({ label, cell, num }) => (
                <td key={label} data-label={label} className={num ? 'num' : undefined}>
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}

export function Pager({
  next,
  cursor,
  go,
  total,
}: {
  next: string | undefined;
  cursor: string | undefined;
  go: (cursor: string | undefined) => void;
  total?: number | undefined;
}) {
  if (!next && !cursor && total === undefined) return null;
  return (
    <div className="actions">
      {total !== undefined && <span className="quiet small">{t.total(total)}</span>}
      {cursor && (
        <button type="button" className="button" onClick={() => go(undefined)}>
          {t.firstPage}
        </button>
      )}
      {next && (
        <button type="button" className="button" onClick={() => go(next)}>
          {t.nextPage}
        </button>
      )}
    </div>
  );
}
