import { type ReactNode, useId } from 'react';
import { Field } from './hooks.tsx';
import { visible } from './text.tsx';

export type Values<N extends string> = Readonly<Record<N, string>>;

/** One field of a form. Its value is text: of a check box, `true` or empty; of several choices, their words. */
export interface Input<N extends string> {
  readonly name: N;
  readonly label: string;
  readonly hint?: string;
  readonly optional?: boolean;
  readonly type?: 'text' | 'url' | 'email' | 'number' | 'datetime-local' | 'lines' | 'check' | 'several';
  /** The choices. The first one is preselected, unless several can be chosen. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  /** The suggestions for completion, with the names by which people know them. */
  readonly known?: readonly (readonly [value: string, label: string])[];
  /** The initial value, if it is not the first choice. */
  readonly initial?: string;
  readonly pattern?: string;
  readonly maxLength?: number;
  /** The name of the field in the request, if it differs. */
  readonly path?: string;
  /** Returns the error of a value before it is sent. */
  readonly wrong?: (value: string) => string | undefined;
  /** The values of other fields that follow from this one. */
  readonly sets?: (value: string, values: Values<N>) => Partial<Values<N>>;
}

/** The field of a form with its label, its hint and its error. */
export function Control<N extends string>({
  input: { name, label, hint, optional, type = 'text', options, known, pattern, maxLength },
  value,
  problem,
  onChange,
}: {
  readonly input: Input<N>;
  readonly value: string;
  readonly problem?: ReactNode;
  readonly onChange: (value: string) => void;
}) {
  const listId = useId();
  const given = { ...(hint && { hint }), ...(problem && { problem }) };
  if (type === 'check')
    return (
      <label className="check">
        <input type="checkbox" checked={value !== ''} onChange={(e) => onChange(e.target.checked ? 'true' : '')} />
        {label}
      </label>
    );
  if (type === 'several') {
    const chosen = value.split(' ').filter(Boolean);
    const words = (options ?? []).map(([word]) => word);
    return (
      <fieldset>
        <legend>{label}</legend>
        {hint && <p className="hint">{hint}</p>}
        {(options ?? []).map(([word, text]) => (
          <label key={word} className="check">
            <input
              type="checkbox"
              checked={chosen.includes(word)}
              aria-invalid={problem !== undefined}
              onChange={(e) =>
                onChange(words.filter((one) => (one === word ? e.target.checked : chosen.includes(one))).join(' '))
              }
            />
            {text}
          </label>
        ))}
        {problem && <p className="problem">{problem}</p>}
      </fieldset>
    );
  }
  return (
    <Field label={label} {...given}>
      {(id, aria) =>
        options ? (
          <select id={id} name={name} {...aria} value={value} onChange={(e) => onChange(e.target.value)}>
            {options.map(([word, text]) => (
              <option key={word} value={word}>
                {visible(text)}
              </option>
            ))}
          </select>
        ) : type === 'lines' ? (
          <textarea
            id={id}
            name={name}
            {...aria}
            rows={4}
            required={!optional}
            value={value}
            onChange={(e) => onChange(e.target.value)}
          />
        ) : (
          <>
            <input
              id={id}
              name={name}
              {...aria}
              type={type}
              min={type === 'number' ? '0' : undefined}
              step={type === 'number' || type === 'datetime-local' ? 'any' : undefined}
              required={!optional}
              pattern={pattern}
              maxLength={maxLength}
              list={known && listId}
              autoComplete="off"
              value={value}
              onChange={(e) => onChange(e.target.value)}
            />
            {known && (
              <datalist id={listId}>
                {known.map(([word, text]) => (
                  <option key={word} value={word}>
                    {visible(text)}
                  </option>
                ))}
              </datalist>
            )}
          </>
        )
      }
    </Field>
  );
}
