import { useIsMutating, useMutation, useQuery } from '@tanstack/react-query';
import { LegateError, type Preview } from 'legate/client';
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { queries } from '../api.ts';
import { draftAt, dropDraft, useDraft } from '../drafts.ts';
import { t } from '../texts/index.ts';
import { Conflict, isConflict } from './conflict.tsx';
import { Consequences, Dialog, Secret } from './dialog.tsx';
import { useChange } from './hooks.tsx';
import { Control, type Input, type Values } from './input.tsx';
import { ErrorNotice, PRECISE, Result } from './screen.tsx';

/** Returns the words in a field that accepts several. */
export const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

/** The object that a form changes, as it is when the form opens. */
interface Edited<N extends string, T> {
  readonly id: string;
  /** The type of the event by which others change it, such as `budget.updated`. */
  readonly type: string;
  readonly load: () => Promise<T>;
  readonly values: (of: T) => Values<N>;
}

interface FormProps<N extends string, T> {
  /** The verb on the button that opens the form and on the one that sends it. */
  readonly label: string;
  readonly title?: string;
  /** A note above the fields. */
  readonly intro?: string;
  readonly inputs: readonly Input<N>[] | ((values: Values<N>) => readonly Input<N>[]);
  /** If absent, the form creates something. */
  readonly edited?: Edited<N, T>;
  /** Sends the values. `of` is the loaded object, for `ifMatch`, or undefined for a new one. */
  readonly run: (values: Values<N>, of: T, reason: string | undefined) => Promise<unknown>;
  /** The same change as a preview. The form shows its consequences and is sent by a second press. */
  readonly preview?: (values: Values<N>, of: T) => Promise<Preview>;
  readonly stale: readonly string[];
  readonly secret?: (answer: never) => string | undefined;
  readonly primary?: boolean;
}

/** A button with a form that creates an object or changes one, and shows secrets in the response once. */
export function FormButton<N extends string, T = undefined>(props: FormProps<N, T>) {
  const { label, primary = !props.edited } = props;
  const name = draftName(props);
  // A form with unsent input is open when the person returns.
  const [open, setOpen] = useState(() => draftAt(name) !== undefined);
  const close = (): void => {
    dropDraft(name);
    setOpen(false);
  };
  return (
    <>
      <button type="button" className={primary ? 'button primary' : 'button'} onClick={() => setOpen(true)}>
        {label}
      </button>
      {open && <FormDialog {...props} close={close} />}
    </>
  );
}

/** The input of a person in a form. */
interface Typed<N extends string> {
  readonly values: Partial<Values<N>>;
  readonly reason: string;
}

const draftName = ({ label, edited }: { label: string; edited?: { readonly id: string } }): string =>
  `form ${label} ${edited?.id ?? ''}`;

function FormDialog<N extends string, T>(props: FormProps<N, T> & { readonly close: () => void }) {
  const { label, title = label, edited, close } = props;
  const id = useId();
  const loaded = useQuery({
    queryKey: ['edited', id],
    queryFn: () => (edited as Edited<N, T>).load(),
    enabled: edited !== undefined,
    // If it changed while the form is open, the service would no longer notice the conflict with the input.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    gcTime: 0,
  });
  // The input stays after somebody else has changed the object.
  const name = draftName(props);
  const [typed, setTyped] = useState((): Typed<N> => draftAt<Typed<N>>(name) ?? { values: {}, reason: '' });
  const [secret, setSecret] = useState<string>();
  const isTyped = Object.keys(typed.values).length > 0 || typed.reason !== '';
  useDraft(name, isTyped && secret === undefined ? typed : undefined);
  // A change that has been sent cannot be cancelled, and its response may contain a secret.
  const sending = useIsMutating({ mutationKey: [id] }) > 0;
  if (secret !== undefined) return <Secret value={secret} close={close} />;
  const fields = (of: T) => (
    <Fields
      {...props}
      id={id}
      of={of}
      typed={typed}
      type={setTyped}
      show={setSecret}
      again={async () => void (await loaded.refetch())}
    />
  );
  return (
    <Dialog title={title} close={sending ? undefined : close}>
      {props.intro && <p>{props.intro}</p>}
      {edited ? <Result of={loaded}>{fields}</Result> : fields(undefined as T)}
    </Dialog>
  );
}

function Fields<N extends string, T>({
  label,
  inputs: given,
  edited,
  run,
  preview,
  stale,
  secret,
  id,
  of,
  typed: { values: typed, reason },
  type,
  show,
  again,
  close,
}: FormProps<N, T> & {
  /** The key of the change that the form sends. */
  readonly id: string;
  readonly of: T;
  readonly typed: Typed<N>;
  readonly type: (typed: Typed<N>) => void;
  readonly show: (secret: string) => void;
  readonly again: () => Promise<void>;
  readonly close: () => void;
}) {
  const form = useRef<HTMLFormElement>(null);
  const base = edited?.values(of);
  const currentOf = ({ name, options, initial = options?.[0]?.[0] ?? '' }: Input<N>): string =>
    typed[name] ?? base?.[name] ?? initial;
  // Which inputs exist may depend on the values of others.
  const all = (typeof given === 'function' ? given({ ...base, ...typed } as Values<N>) : given) as Input<N>[];
  const values = { ...base, ...Object.fromEntries(all.map((input) => [input.name, currentOf(input)])) } as Values<N>;
  const consequences = useMutation({ mutationFn: () => (preview as NonNullable<typeof preview>)(values, of) });
  const send = useChange({
    mutationKey: [id],
    mutationFn: async () => run(values, of, reason.trim() || undefined),
    onSuccess: (answer) => {
      for (const key of stale) void queries.invalidateQueries({ queryKey: [key] });
      const shown = secret?.(answer as never);
      if (shown === undefined) close();
      else show(shown);
    },
  });
  const error = send.error ?? consequences.error;
  const [wrong, setWrong] = useState<ReadonlyMap<N, string>>(new Map());
  const problems: ReadonlyMap<N, ReactNode> = wrong.size > 0 ? wrong : problemsOf(error, all);
  useEffect(() => {
    if (error || wrong.size > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error, wrong]);
  const submit = (e: FormEvent): void => {
    e.preventDefault();
    const found = all.flatMap(({ name, wrong: check }) => {
      const text = check?.(values[name]);
      return text === undefined ? [] : [[name, text] as const];
    });
    setWrong(new Map(found));
    if (found.length > 0) return;
    if (preview && !consequences.data) consequences.mutate(undefined, { onSuccess: (p) => !takes(p) && send.mutate() });
    else send.mutate();
  };
  const set = ({ name, sets }: Input<N>, value: string): void => {
    setWrong(new Map());
    type({ values: { ...typed, ...sets?.(value, values), [name]: value } as Partial<Values<N>>, reason });
    consequences.reset();
    send.reset();
  };
  return (
    <form ref={form} className="form" onSubmit={submit}>
      {all.map((input) => (
        <Control
          key={input.name}
          input={input}
          value={currentOf(input)}
          problem={problems.get(input.name)}
          onChange={(value) => set(input, value)}
        />
      ))}
      {edited && (
        <Control
          input={{ name: 'reason', label: t.reasonOptional, optional: true, maxLength: 500 }}
          value={reason}
          onChange={(value) => type({ values: typed, reason: value })}
        />
      )}
      {consequences.data && takes(consequences.data) && <Consequences of={consequences.data} />}
      {edited && isConflict(error) ? (
        <Conflict
          id={edited.id}
          type={edited.type}
          text={t.changedMeanwhile}
          again={() =>
            void again().then(() => {
              consequences.reset();
              send.reset();
            })
          }
        />
      ) : problems.size > 0 ? (
        <p className="notice error" role="alert">
          {t.notSaved(all.filter(({ name }) => problems.has(name)).map((input) => input.label))}
        </p>
      ) : (
        error && <ErrorNotice error={error} />
      )}
      <div className="actions">
        <button type="button" className="button" disabled={send.isPending} onClick={close}>
          {t.cancel}
        </button>
        <button
          type="submit"
          className="button primary"
          disabled={send.isPending || consequences.isPending || isConflict(error)}
        >
          {edited ? t.save : label}
        </button>
      </div>
    </form>
  );
}

/** Whether somebody loses something by a change. */
const takes = ({ loses, grants, approvals, hidden }: Preview): boolean =>
  loses.length > 0 || grants + approvals + hidden > 0;

interface Issue {
  readonly path: string;
  readonly message: string;
}

/**
 * Returns the errors of the service by field of the form: the text of the code in the language of the console, or the
 * English message. The result is empty if some of them belong to no field.
 */
function problemsOf<N extends string>(error: Error | null, inputs: readonly Input<N>[]): ReadonlyMap<N, ReactNode> {
  const found = new Map<N, ReactNode>();
  if (!(error instanceof LegateError)) return found;
  const { issues, path } = (error.details ?? {}) as { issues?: readonly Issue[]; path?: string };
  // Errors of OAuth endpoints are sentences that begin with the field (RFC 7591).
  const [, named, text = ''] = /^([\w.]+) (.*?)\.?$/s.exec(error.message) ?? [];
  const all =
    issues ?? (path !== undefined ? [{ path, message: error.message }] : named ? [{ path: named, message: text }] : []);
  for (const issue of all) {
    const input = inputs.find(({ name, path: at = name }) => new RegExp(`^${at}(?![\\w-])`).test(issue.path));
    if (!input) return new Map();
    const text = issues || PRECISE.test(error.code) ? undefined : t.errors[error.code];
    if (!found.has(input.name)) found.set(input.name, text ?? <span lang="en">{issue.message}</span>);
  }
  return found;
}
