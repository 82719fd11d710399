import { useMutation, useQuery } from '@tanstack/react-query';
import { type Agent, LegateError, type Permission } from 'legate/client';
import { useState } from 'react';
import { legate, queries, rights } from '../api.ts';
import { Consequences, Dialog } from '../parts/dialog.tsx';
import { Field, useAddress, useKept } from '../parts/hooks.tsx';
import { Empty, ErrorNotice, Result, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { type Draft, draftOf, entriesOf, lint, permissionsOf, sentenceOf } from './permission-draft.ts';

/** What the agent may do now, and a draft of its own permissions. */
export function PermissionEditor({ agent }: { agent: Agent }) {
  const effective = useKept(['agents', 'effective', agent.id, agent.updatedAt], () =>
    legate.agents.permissions(agent.id),
  );
  const editable = rights.write && agent.status !== 'revoked';
  return (
    <>
      <Section title={t.effective}>
        <Result of={effective}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty>{t.noPermissions}</Empty>
            ) : (
              <Table
                caption={t.effective}
                rows={rows}
                rowKey={(_, i) => String(i)}
                columns={[
                  { label: t.resource, cell: (p) => <Untrusted mono>{p.resource}</Untrusted> },
                  { label: t.actions, cell: (p) => <Untrusted mono>{p.actions.join(', ')}</Untrusted> },
                  {
                    label: t.conditions,
                    cell: (p) =>
                      [p.constraints, ...(p.furtherConstraints ?? [])]
                        .flatMap((c) => (c ? entriesOf(c) : []))
                        .map((text) => (
                          <div key={text}>
                            <Untrusted>{text}</Untrusted>
                          </div>
                        )),
                  },
                  {
                    label: t.source,
                    cell: (p) => (p.source.type === 'own' ? t.own : t.delegated(p.source.delegationIds.length)),
                  },
                  { label: t.lastUsed, cell: (p) => <Time at={p.lastUsedAt} /> },
                ]}
              />
            )
          }
        </Result>
      </Section>
      {editable && <Editor agent={agent} />}
    </>
  );
}

function Editor({ agent }: { agent: Agent }) {
  const [{ add, actions = '' }, setAddress] = useAddress();
  // A decision or an approval leads here with the narrowest permission that would have allowed it.
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => [
    ...agent.permissions.map(draftOf),
    ...(add ? [draftOf({ resource: add, actions: actions.split(' ') })] : []),
  ]);
  const [asking, setAsking] = useState<readonly Permission[]>();
  const [problem, setProblem] = useState<string>();
  const change = (index: number, patch: Partial<Draft>): void =>
    setDrafts(drafts.map((d, i) => (i === index ? { ...d, ...patch } : d)));
  const review = (): void => {
    try {
      setAsking(permissionsOf(drafts));
      setProblem(undefined);
    } catch {
      setProblem(t.jsonInvalid);
    }
  };
  return (
    <Section title={t.editPermissions}>
      {drafts.map((draft, index) => (
        <fieldset className="entry" key={index}>
          <legend className="sr">{t.entry(index + 1)}</legend>
          <div className="grid2">
            <Field label={t.resource} hint={t.resourceHint}>
              {(id) => (
                <input
                  id={id}
                  className="mono"
                  value={draft.resource}
                  onChange={(e) => change(index, { resource: e.target.value })}
                />
              )}
            </Field>
            <Field label={t.actions} hint={t.actionsHint}>
              {(id) => (
                <input
                  id={id}
                  className="mono"
                  value={draft.actions}
                  onChange={(e) => change(index, { actions: e.target.value })}
                />
              )}
            </Field>
            <Field label={t.capPerHour} hint={t.capHint}>
              {(id) => (
                <input
                  id={id}
                  type="number"
                  min="0"
                  value={draft.cap}
                  onChange={(e) => change(index, { cap: e.target.value })}
                />
              )}
            </Field>
            <Field label={t.ipAllowlist} hint={t.listHint}>
              {(id) => (
                <input
                  id={id}
                  className="mono"
                  value={draft.ips}
                  onChange={(e) => change(index, { ips: e.target.value })}
                />
              )}
            </Field>
          </div>
          <label className="check">
            <input
              type="checkbox"
              checked={draft.approval}
              onChange={(e) => change(index, { approval: e.target.checked })}
            />
            {t.requireApproval}
          </label>
          <Field label={t.furtherConditions} hint={t.furtherHint}>
            {(id) => (
              <textarea id={id} value={draft.further} onChange={(e) => change(index, { further: e.target.value })} />
            )}
          </Field>
          <Sentence draft={draft} />
          {lint(draft, drafts, index).map((code) => (
            <p className="notice warning" key={code}>
              {t.lints[code]}
            </p>
          ))}
          <div className="actions">
            <button type="button" className="button" onClick={() => setDrafts(drafts.filter((_, i) => i !== index))}>
              {t.removeEntry(index + 1)}
            </button>
          </div>
        </fieldset>
      ))}
      {problem && (
        <p className="notice error" role="alert">
          {problem}
        </p>
      )}
      <div className="actions">
        <button
          type="button"
          className="button"
          onClick={() => setDrafts([...drafts, draftOf({ resource: '', actions: [] })])}
        >
          {t.addEntry}
        </button>
        <button type="button" className="button primary" onClick={review}>
          {t.reviewChanges}
        </button>
      </div>
      {asking && (
        <Review
          agent={agent}
          permissions={asking}
          close={() => setAsking(undefined)}
          saved={() => setAddress({ add: undefined, actions: undefined })}
        />
      )}
    </Section>
  );
}

/** A draft in words, while its JSON can be read. */
function Sentence({ draft }: { draft: Draft }) {
  try {
    const [permission] = permissionsOf([draft]);
    if (!permission?.resource || permission.actions.length === 0) return null;
    return (
      <p className="quiet">
        <Untrusted>{sentenceOf(permission)}</Untrusted>
      </p>
    );
  } catch {
    return null;
  }
}

/** The entries that a draft adds and removes. */
function PermissionChanges({ before, after }: { before: readonly Permission[]; after: readonly Permission[] }) {
  const lines = (all: readonly Permission[]): string[] => all.map(sentenceOf);
  const [old, next] = [lines(before), lines(after)];
  const changes = [
    ...old.filter((line) => !next.includes(line)).map((line) => ['−', t.before, line] as const),
    ...next.filter((line) => !old.includes(line)).map((line) => ['+', t.after, line] as const),
  ];
  if (changes.length === 0) return <p>{t.nothingChanges}</p>;
  return (
    <ul className="form">
      {changes.map(([sign, word, line]) => (
        <li key={sign + line}>
          <span aria-hidden="true">{sign} </span>
          <span className="sr">{word}: </span>
          <Untrusted>{line}</Untrusted>
        </li>
      ))}
    </ul>
  );
}

/** The consequences of a draft: who could do less, and which recorded decisions would come out differently. */
function Review({
  agent,
  permissions,
  close,
  saved,
}: {
  agent: Agent;
  permissions: readonly Permission[];
  close: () => void;
  saved: () => void;
}) {
  const [reason, setReason] = useState('');
  const preview = useQuery({
    queryKey: ['preview', agent.id, permissions],
    queryFn: () => legate.agents.update(agent.id, { permissions }, { preview: true }),
    gcTime: 0,
  });
  const replay = useQuery({
    queryKey: ['replay', agent.id, permissions],
    queryFn: () => legate.agents.replay(agent.id, { permissions, limit: 200 }),
    gcTime: 0,
  });
  const save = useMutation({
    mutationFn: () =>
      legate.agents.update(
        agent.id,
        { permissions, ...(reason.trim() && { reason: reason.trim() }) },
        { ifMatch: agent },
      ),
    onSuccess: () => {
      for (const key of ['agents', 'delegations', 'changes']) void queries.invalidateQueries({ queryKey: [key] });
      saved();
      close();
    },
  });
  const conflict = save.error instanceof LegateError && save.error.status === 412;
  return (
    <Dialog title={t.saveQuestion(agent.name)} close={close}>
      <PermissionChanges before={agent.permissions} after={permissions} />
      <Result of={preview}>{(data) => <Consequences of={data} />}</Result>
      <Result of={replay} lines={2}>
        {({ examined, changed }) => (
          <>
            <p>{t.replayed(examined, changed.length)}</p>
            {changed.slice(0, 10).map((c) => (
              <p key={c.auditId} className="small">
                <Status of={c.was} /> → <Status of={c.would} />{' '}
                <Untrusted mono>{`${c.action} ${c.resource}`}</Untrusted>
              </p>
            ))}
          </>
        )}
      </Result>
      <Field label={t.reasonOptional}>
        {(id) => <input id={id} maxLength={500} value={reason} onChange={(e) => setReason(e.target.value)} />}
      </Field>
      {conflict ? (
        <div className="notice error" role="alert">
          <p>{t.changedElsewhere}</p>
          <button
            type="button"
            className="button"
            onClick={() => {
              void queries.invalidateQueries({ queryKey: ['agents'] });
              close();
            }}
          >
            {t.loadAgain}
          </button>
        </div>
      ) : (
        save.error && <ErrorNotice error={save.error} />
      )}
      <div className="actions">
        <button type="button" className="button" onClick={close}>
          {t.cancel}
        </button>
        <button
          type="button"
          className="button primary"
          disabled={!preview.data || save.isPending || conflict}
          onClick={() => save.mutate()}
        >
          {t.savePermissions}
        </button>
      </div>
    </Dialog>
  );
}
