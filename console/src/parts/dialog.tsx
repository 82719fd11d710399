import { useQuery } from '@tanstack/react-query';
import type { Preview } from 'legate/client';
import { type ReactNode, type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { queries, showSecret } from '../api.ts';
import { draftAt, dropDraft, useDraft } from '../drafts.ts';
import { t } from '../texts/index.ts';
import { useChange } from './hooks.tsx';
import { ErrorNotice, focusHeading, Result } from './screen.tsx';
import { CopyButton, Untrusted, visible } from './text.tsx';

/** A modal dialog with a question, the consequences and buttons. Without `close`, the Escape key does not end it. */
export function Dialog({
  title,
  close,
  children,
}: {
  title: string;
  close?: (() => void) | undefined;
  children: ReactNode;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect ends while the element is still in the document, so the focus returns to where it was.
  useLayoutEffect(() => {
    const dialog = ref.current as HTMLDialogElement;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        close?.();
      }}
      // Browsers close a dialog at the second press of Escape, whatever became of the first one.
      onClose={() => !close && ref.current?.showModal()}
    >
      <div className="body">
        <h2 id={id}>
          <Untrusted sentence>{title}</Untrusted>
        </h2>
        {children}
      </div>
    </dialog>
  );
}

/** The effects of a change, as the service computed them. */
export function Consequences({ of }: { of: Preview }) {
  const erased = of.events.find(({ type }) => type === 'audit.erased')?.data['of'];
  const facts = [
    typeof erased === 'number' && t.willErase(erased),
    of.grants > 0 && t.preview.grants(of.grants),
    of.approvals > 0 && t.preview.approvals(of.approvals),
    of.callsLastHour > 0 && t.preview.calls(of.callsLastHour),
    of.hidden > 0 && t.preview.hidden(of.hidden),
  ].filter((text) => text !== false);
  return (
    <div className="section">
      {of.loses.length === 0 && facts.length === 0 && <p>{t.preview.nothing}</p>}
      {of.loses.length > 0 && (
        <ul className="form">
          {of.loses.map(({ agentId, name, permissions, left }) => (
            <li key={agentId}>
              <Untrusted>{name}</Untrusted>: {t.preview.loses(permissions.length, left)}
              <span className="tags">
                {permissions.map(({ resource, actions }, i) => (
                  <span className="tag" key={i}>
                    <Untrusted>{`${resource} · ${actions.join(', ')}`}</Untrusted>
                  </span>
                ))}
              </span>
            </li>
          ))}
        </ul>
      )}
      {facts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}

/** Moves the focus to the heading if this element goes away while it has the focus, such as with the row it ended. */
export function useFocusKept(element: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const { current } = element;
    return () => {
      if (current?.contains(document.activeElement)) focusHeading();
    };
  }, [element]);
}

interface ActionProps {
  /** The label of the button: a verb. Its object is in the dialog's title. */
  readonly label: string;
  readonly question: string;
  readonly danger?: boolean;
  /** The same change as a preview, whose consequences are shown first. */
  readonly preview?: () => Promise<Preview>;
  readonly run: (reason: string | undefined) => Promise<unknown>;
  readonly stale: readonly string[];
  readonly text?: ReactNode;
  readonly withReason?: boolean;
  /** A secret in the response, which is shown once. */
  readonly secret?: (answer: never) => string | undefined;
  readonly done?: () => void;
  /** The text to type if agents other than these lose something by the change. */
  readonly typed?: { readonly agentIds: readonly string[]; readonly name: string };
}

/** A button for a change, with a dialog that shows its consequences and asks for confirmation. */
export function Action(props: ActionProps) {
  // The dialog keeps asking and doing what it did when it opened, even if its object changes or its row is another one.
  const [asked, setAsked] = useState<ActionProps>();
  const button = useRef<HTMLButtonElement>(null);
  useFocusKept(button);
  return (
    <>
      <button
        ref={button}
        type="button"
        className={props.danger ? 'button danger' : 'button'}
        onClick={() => setAsked(props)}
      >
        {props.label}
      </button>
      {asked && <ActionDialog {...asked} close={() => setAsked(undefined)} />}
    </>
  );
}

function ActionDialog(props: ActionProps & { close: () => void }) {
  const { label, question, preview, run, stale, danger, secret, withReason = true } = props;
  const draft = `reason ${question}`;
  const [reason, setReason] = useState(() => draftAt<string>(draft) ?? '');
  useDraft(draft, reason || undefined);
  const close = (): void => {
    dropDraft(draft);
    props.close();
  };
  const [typed, setTyped] = useState('');
  const id = useId();
  const consequences = useQuery({
    queryKey: ['preview', id],
    queryFn: () => (preview as () => Promise<Preview>)(),
    enabled: preview !== undefined,
    staleTime: 0,
    gcTime: 0,
  });
  const change = useChange({
    mutationFn: async () => run(reason.trim() === '' ? undefined : reason.trim()),
    onSuccess: (answer) => {
      for (const key of stale) void queries.invalidateQueries({ queryKey: [key] });
      if (!secret?.(answer as never)) finish();
    },
  });
  const others = (consequences.data?.loses ?? []).some(({ agentId }) => !props.typed?.agentIds.includes(agentId));
  const name = props.typed && others ? visible(props.typed.name) : undefined;
  const finish = (): void => {
    close();
    props.done?.();
  };
  const shown = change.isSuccess ? secret?.(change.data as never) : undefined;
  if (shown !== undefined) return <Secret value={shown} close={finish} />;
  return (
    // A change that has been sent cannot be cancelled, and its response may contain a secret.
    <Dialog title={question} close={change.isPending ? undefined : close}>
      {props.text && <p>{props.text}</p>}
      {preview && <Result of={consequences}>{(data) => <Consequences of={data} />}</Result>}
      {withReason && (
        <div className="field">
          <label htmlFor={id}>{t.reasonOptional}</label>
          <input id={id} value={reason} maxLength={500} onChange={(e) => setReason(e.target.value)} />
        </div>
      )}
      {name !== undefined && (
        <div className="field">
          <label htmlFor={`${id}name`}>{t.typeName(name)}</label>
          <input id={`${id}name`} autoComplete="off" value={typed} onChange={(e) => setTyped(e.target.value)} />
        </div>
      )}
      {change.error && <ErrorNotice error={change.error} />}
      <div className="actions">
        <button type="button" className="button" disabled={change.isPending} onClick={close}>
          {t.cancel}
        </button>
        <button
          type="button"
          className={danger ? 'button danger' : 'button primary'}
          disabled={
            change.isPending ||
            (preview !== undefined && consequences.isPending) ||
            (name !== undefined && typed.trim() !== name.trim())
          }
          onClick={() => change.mutate()}
        >
          {label}
        </button>
      </div>
    </Dialog>
  );
}

export function Secret({ value, close }: { value: string; close: () => void }) {
  useEffect(showSecret, []);
  return (
    <Dialog title={t.secretTitle}>
      <p>{t.secretOnce}</p>
      <p>
        <code>{value}</code> <CopyButton text={value} label={t.copySecret} />
      </p>
      <div className="actions">
        <button type="button" className="button primary" onClick={close}>
          {t.secretCopied}
        </button>
      </div>
    </Dialog>
  );
}
