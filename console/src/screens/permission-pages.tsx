import { memo, useState } from 'react';
import { Field } from '../parts/hooks.tsx';
import { t } from '../texts/index.ts';
import type { Problem } from './permission-check.ts';
import type { Draft } from './permission-draft.ts';
import { Entry, type Known } from './permission-entry.tsx';

/** Permissions on one page of the editor. */
export const PAGE = 25;
export const NO_PROBLEMS: readonly Problem[] = [];

/** One permission, rendered again only after it has changed. */
export const MemoEntry = memo(
  ({
    index,
    lints,
    edit,
    remove,
    ...rest
  }: {
    index: number;
    draft: Draft;
    /** Codes, separated by spaces. */
    lints: string;
    problems: readonly Problem[];
    known: Known;
    edit: (index: number, patch: Partial<Draft>) => void;
    remove: (index: number) => void;
  }) => (
    <Entry
      {...rest}
      number={index + 1}
      lints={lints.split(' ').filter(Boolean) as (keyof typeof t.lints)[]}
      change={(patch) => edit(index, patch)}
      remove={() => remove(index)}
    />
  ),
  (a, b) =>
    (['index', 'draft', 'lints', 'known', 'edit', 'remove'] as const).every((name) => a[name] === b[name]) &&
    a.problems.length === 0 &&
    b.problems.length === 0,
);

export function Pages({
  page,
  pages,
  count,
  go,
}: {
  page: number;
  pages: number;
  count: number;
  go: (page: number) => void;
}) {
  return (
    <div className="actions">
      <button type="button" className="button" disabled={page === 0} onClick={() => go(page - 1)}>
        {t.previousPage}
      </button>
      <span className="quiet" role="status">
        {t.permissionsShown(count === 0 ? 0 : page * PAGE + 1, Math.min(count, (page + 1) * PAGE), count)}
      </span>
      <button type="button" className="button" disabled={page + 1 >= pages} onClick={() => go(page + 1)}>
        {t.nextPage}
      </button>
    </div>
  );
}

/** All permissions as text. With many permissions, the text is created only when it is opened. */
export function AsJson({
  text,
  many,
  problems,
  take,
}: {
  text: string;
  many: boolean;
  problems: readonly Problem[];
  take: (text: string) => void;
}) {
  const [open, setOpen] = useState(false);
  const field = (
    <>
      <Field label={t.asJson} hint={t.asJsonHint}>
        {(id) => (
          <textarea
            id={id}
            spellCheck={false}
            value={text}
            aria-invalid={problems.length > 0}
            onChange={(e) => take(e.target.value)}
          />
        )}
      </Field>
      {problems.slice(0, 5).map(({ entry, text: problem }) => (
        <p className="notice error" key={`${entry} ${problem}`}>
          {entry !== undefined && `${t.entry(entry + 1)}: `}
          {problem}
        </p>
      ))}
    </>
  );
  if (!many) return <div className="json">{field}</div>;
  return (
    <details className="json" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{t.asJson}</summary>
      {open && field}
    </details>
  );
}
