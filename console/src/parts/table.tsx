import { type ReactNode, useEffect, useRef, useState } from 'react';
import { t } from '../texts/index.ts';
import { Empty, FirstPage, focusHeading } from './screen.tsx';
import { Untrusted, visible } from './text.tsx';

export interface Column<T> {
  readonly label: string;
  readonly cell: (row: T) => ReactNode;
  readonly num?: boolean;
}

/** Content that is wider than the window scrolls, and can be reached by keyboard. */
export function Scrolled({ label, children }: { label: string; children: ReactNode }) {
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

interface TableProps<T> {
  readonly caption: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly rowKey: (row: T, index: number) => string;
}

/** A name and one or two numbers, which fit next to each other on a phone. */
const isSmall = (columns: readonly Column<never>[]): boolean =>
  columns.length <= 3 && columns.slice(1).every(({ num }) => num);

/** A table of at most one page of rows. On a phone each row is a block, unless the table is small. */
export function Table<T>({ caption, rows, columns, rowKey }: TableProps<T>) {
  return (
    <Scrolled label={visible(caption)}>
      <table className={isSmall(columns) ? undefined : 'stack'}>
        <caption className="sr">
          <Untrusted>{caption}</Untrusted>
        </caption>
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

const MANY = 100;

/** A table of rows that are all loaded. Shows the first hundred, and more at each press. */
export function LongTable<T>({ rows, ...rest }: TableProps<T>) {
  const [shown, setShown] = useState(MANY);
  return (
    <>
      <Table {...rest} rows={rows.slice(0, shown)} />
      {rows.length > shown && (
        <div className="actions">
          <span className="quiet" role="status">
            {t.rowsShown(shown, rows.length)}
          </span>
          <button type="button" className="button" onClick={() => setShown(shown + MANY)}>
            {t.showMore}
          </button>
        </div>
      )}
    </>
  );
}

/** A page without rows: the whole list is empty, or only this page, whose rows have left the list since. */
export function EmptyPage({ cursor, children }: { cursor: string | undefined; children: ReactNode }) {
  if (!cursor) return <Empty>{children}</Empty>;
  return (
    <Empty>
      <p>{t.pageEmpty}</p>
      <div className="actions">
        <FirstPage />
      </div>
    </Empty>
  );
}

/** Moves the focus to the heading with each change of the page, because the pressed button may go away. */
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
  const turn = (to: string | undefined): void => {
    go(to);
    focusHeading();
  };
  return (
    <div className="actions">
      {total !== undefined && <span className="quiet small">{t.total(total)}</span>}
      {cursor && (
        <button type="button" className="button" onClick={() => turn(undefined)}>
          {t.firstPage}
        </button>
      )}
      {next && (
        <button type="button" className="button" onClick={() => turn(next)}>
          {t.nextPage}
        </button>
      )}
    </div>
  );
}
