import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { queries } from '../api.ts';
import { t } from '../texts/index.ts';
import { Dialog, Secret } from './dialog.tsx';
import { Field, Select } from './hooks.tsx';
import { ErrorNotice } from './screen.tsx';

export interface Input<N extends string> {
  readonly name: N;
  readonly label: string;
  readonly hint?: string;
  readonly optional?: boolean;
  readonly type?: 'text' | 'url' | 'number';
  /** A choice; the first is chosen at first. */
  readonly options?: readonly (readonly [value: string, label: string])[];
}

/** Returns the words of a field that takes several. */
export const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

/** A button that makes something, with a dialog for its fields, and what is shown only once. */
export function Create<N extends string>(props: {
  readonly label: string;
  readonly inputs: readonly Input<N>[];
  readonly run: (values: Readonly<Record<N, string>>) => Promise<unknown>;
  readonly stale: readonly string[];
  readonly secret?: (answer: never) => string | undefined;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button primary" onClick={() => setOpen(true)}>
        {props.label}
      </button>
      {open && <CreateDialog {...props} close={() => setOpen(false)} />}
    </>
  );
}

function CreateDialog<N extends string>({
  label,
  inputs,
  run,
  stale,
  secret,
  close,
}: Parameters<typeof Create<N>>[0] & { close: () => void }) {
  const [values, setValues] = useState(
    () => Object.fromEntries(inputs.map(({ name, options }) => [name, options?.[0]?.[0] ?? ''])) as Record<N, string>,
  );
  const create = useMutation({
    mutationFn: () => run(values),
    onSuccess: (answer) => {
      for (const key of stale) void queries.invalidateQueries({ queryKey: [key] });
      if (!secret?.(answer as never)) close();
    },
  });
  const shown = create.isSuccess ? secret?.(create.data as never) : undefined;
  if (shown !== undefined) return <Secret value={shown} close={close} />;
  const set = (name: N, value: string): void => setValues({ ...values, [name]: value });
  return (
    <Dialog title={label} close={close}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault();
          create.mutate();
        }}
      >
        {inputs.map(({ name, label: title, hint, optional, type = 'text', options }) =>
          options ? (
            <Select key={name} label={title} value={values[name]} options={options} onChange={(v) => set(name, v)} />
          ) : (
            <Field key={name} label={title} {...(hint && { hint })}>
              {(id) => (
                <input
                  id={id}
                  type={type}
                  min="0"
                  step="any"
                  required={!optional}
                  value={values[name]}
                  onChange={(e) => set(name, e.target.value)}
                />
              )}
            </Field>
          ),
        )}
        {create.error && <ErrorNotice error={create.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={close}>
            {t.cancel}
          </button>
          <button type="submit" className="button primary" disabled={create.isPending}>
            {label}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
