import { useEffect, useState } from 'react';
import { t } from '../texts/index.ts';
import { Field } from './hooks.tsx';
import { Untrusted } from './text.tsx';

export const keysText = (keys: readonly string[]): string => keys.map((key) => `${key}:`).join(' ');

/** A field for a filter as text. Input changes nothing else on the screen until it is applied. */
export function FilterForm({ q, apply, hint }: { q: string; apply: (text: string) => void; hint: string }) {
  const [typed, setTyped] = useState(q);
  // A facet or a link changed the filter.
  useEffect(() => setTyped(q), [q]);
  return (
    <form
      className="filters"
      onSubmit={(e) => {
        e.preventDefault();
        apply(typed.trim());
      }}
    >
      <Field label={t.filter} hint={hint} wide>
        {(id) => (
          <input id={id} type="search" className="mono" value={typed} onChange={(e) => setTyped(e.target.value)} />
        )}
      </Field>
      <button type="submit" className="button primary">
        {t.apply}
      </button>
    </form>
  );
}

/** Words of a filter that have been ignored. */
export const UnknownWords = ({ words }: { words: readonly string[] }) =>
  words.length === 0 ? null : (
    <p className="notice warning" role="status">
      {t.unknownFilter} <Untrusted mono>{words.join(' ')}</Untrusted>
    </p>
  );
