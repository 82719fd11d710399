import { X } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import { t } from '../texts/index.ts';
import { Untrusted, visible } from './text.tsx';

/** A list of words as chips, with a field for another one. */
export function Chips({
  label,
  hint,
  values,
  onChange,
  known = [],
  spaces = false,
}: {
  label: string;
  hint?: string;
  values: readonly string[];
  onChange: (values: readonly string[]) => void;
  /** The suggestions for completion. */
  known?: readonly string[];
  /** Whether a word may contain spaces and commas. */
  spaces?: boolean;
}) {
  const [next, setNext] = useState('');
  const [active, setActive] = useState(false);
  const id = useId();
  const add = (text: string): void => {
    const words = spaces ? [text.trim()] : text.split(/[\s,]+/);
    setNext('');
    const fresh = words.filter((word) => word !== '' && !values.includes(word));
    if (fresh.length > 0) onChange([...values, ...fresh]);
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {hint && <p className="hint">{hint}</p>}
      <div className="chips">
        {values.map((value) => (
          <button
            type="button"
            className="word"
            key={value}
            aria-label={t.removeWord(visible(value))}
            onClick={() => onChange(values.filter((one) => one !== value))}
          >
            <Untrusted mono>{value}</Untrusted> <X size={12} aria-hidden="true" />
          </button>
        ))}
        <input
          id={id}
          className="mono"
          list={`${id}known`}
          autoComplete="off"
          value={next}
          onChange={(e) => (!spaces && /[\s,]/.test(e.target.value) ? add(e.target.value) : setNext(e.target.value))}
          onFocus={() => setActive(true)}
          onBlur={() => {
            setActive(false);
            add(next);
          }}
          onKeyDown={(e) => {
            if (e.key === 'Enter') {
              e.preventDefault();
              add(next);
            } else if (e.key === 'Backspace' && next === '' && values.length > 0) onChange(values.slice(0, -1));
          }}
        />
      </div>
      <datalist id={`${id}known`}>
        {active && known.filter((word) => !values.includes(word)).map((word) => <option key={word} value={word} />)}
      </datalist>
    </div>
  );
}

/** A resource, with a field for each segment. A colon begins the next one. */
export function Segments({
  label,
  hint,
  value,
  onChange,
  known,
}: {
  label: string;
  hint?: string;
  value: string;
  onChange: (value: string) => void;
  /** The suggested resources, which are offered segment by segment. */
  known: readonly string[];
}) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [focus, setFocus] = useState<number>();
  /** Only the segment with the focus has suggestions, because a page of permissions has a hundred segments. */
  const [active, setActive] = useState<number>();
  const segments = value.split(':');
  useEffect(() => {
    if (focus === undefined) return;
    box.current?.querySelectorAll('input')[focus]?.focus();
    setFocus(undefined);
  }, [focus]);
  const set = (index: number, text: string): void => {
    onChange([...segments.slice(0, index), text.trim(), ...segments.slice(index + 1)].join(':'));
    const colons = text.split(':').length - 1;
    if (colons > 0) setFocus(index + colons);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset inside of the one of the permission reads as two lists.
    <div className="field" role="group" aria-labelledby={`${id}label`}>
      <span className="label" id={`${id}label`}>
        {label}
      </span>
      {hint && <p className="hint">{hint}</p>}
      <div className="chips" ref={box}>
        {segments.map((segment, i) => (
          <span className="segment" key={i}>
            {i > 0 && <span aria-hidden="true">:</span>}
            <input
              className="mono"
              aria-label={t.segment(i + 1)}
              aria-invalid={segment.includes('*') && segment !== '*'}
              list={`${id}${i}`}
              autoComplete="off"
              size={Math.max(3, segment.length + 1)}
              value={segment}
              onFocus={() => setActive(i)}
              onBlur={() => setActive(undefined)}
              onChange={(e) => set(i, e.target.value)}
              onKeyDown={(e) => {
                const { selectionStart: at, selectionEnd: end } = e.currentTarget;
                if (e.key === 'Backspace' && i > 0 && at === 0 && end === 0) {
                  e.preventDefault();
                  onChange(
                    [...segments.slice(0, i - 1), `${segments[i - 1]}${segment}`, ...segments.slice(i + 1)].join(':'),
                  );
                  setFocus(i - 1);
                } else if (e.key === 'ArrowLeft' && at === 0 && end === 0 && i > 0) setFocus(i - 1);
                else if (e.key === 'ArrowRight' && at === segment.length && i < segments.length - 1) setFocus(i + 1);
              }}
            />
            <datalist id={`${id}${i}`}>
              {active === i && optionsAt(known, segments.slice(0, i)).map((word) => <option key={word} value={word} />)}
            </datalist>
          </span>
        ))}
      </div>
    </div>
  );
}

const MAX_OPTIONS = 50;

/** Returns the segments that follow these ones in known resources, and `*`. */
export function optionsAt(known: readonly string[], before: readonly string[]): string[] {
  const found = known
    .map((resource) => resource.split(':'))
    .filter((parts) => before.every((segment, i) => segment === '*' || segment === parts[i]))
    .flatMap((parts) => parts[before.length] ?? []);
  return [...new Set([...found, '*'])].slice(0, MAX_OPTIONS);
}
