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
import type { Problem } from './permission-check.ts';
import { type Draft, draftOf, entriesOf, lint, permissionOf, sentenceOf } from './permission-draft.ts';
import { Entry, useKnown } from './permission-entry.tsx';

/** Shows what the agent may do now, and edits a draft of its own permissions. */
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

const asText = (drafts: readonly Draft[]): string => JSON.stringify(drafts.map(permissionOf), null, 2);

function Editor({ agent }: { agent: Agent }) {
  const [{ add, actions = '' }, setAddress] = useAddress();
  // A decision or an approval leads here with the narrowest permission that would have allowed it.
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => [
    ...agent.permissions.map(draftOf),
    ...(add ? [draftOf({ resource: add, actions: actions.split(' ') })] : []),
  ]);
  /** The JSON as it was typed, while it is not the one of the fields. */
  const [typed, setTyped] = useState<string>();
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [asking, setAsking] = useState<readonly Permission[]>();
  const known = useKnown(agent);
  const change = (next: readonly Draft[]): void => {
    setDrafts(next);
    setTyped(undefined);
    setProblems([]);
  };
  const take = async (text: string): Promise<void> => {
    setTyped(text);
    const read = await readPermissions(text);
    setProblems(read.problems);
    if (read.permissions) setDrafts(read.permissions.map(draftOf));
  };
  const review = async (): Promise<void> => {
    const read = await readPermissions(typed ?? asText(drafts));
    setProblems(read.problems);
    setAsking(read.permissions);
  };
  return (
    <Section title={t.editPermissions}>
      <div className="editor">
        <div className="form">
          {drafts.map((draft, index) => (
            <Entry
              key={index}
              number={index + 1}
              draft={draft}
              lints={lint(draft, drafts)}
              problems={typed === undefined ? problems.filter((one) => one.entry === index) : []}
              known={known}
              change={(patch) => change(drafts.map((d) => (d === draft ? { ...d, ...patch } : d)))}
              remove={() => change(drafts.filter((d) => d !== draft))}
            />
          ))}
          <div className="actions">
            <button
              type="button"
              className="button"
              onClick={() => change([...drafts, draftOf({ resource: '', actions: [] })])}
            >
              {t.addEntry}
            </button>
            <button type="button" className="button primary" onClick={() => void review()}>
              {t.reviewChanges}
            </button>
          </div>
          {problems.length > 0 && (
            <p className="notice error" role="alert">
              {t.draftProblems(problems.length)}
            </p>
          )}
        </div>
        <div className="json">
          <Field label={t.asJson} hint={t.asJsonHint}>
            {(id) => (
              <textarea
                id={id}
                spellCheck={false}
                value={typed ?? asText(drafts)}
                aria-invalid={typed !== undefined && problems.length > 0}
                onChange={(e) => void take(e.target.value)}
              />
            )}
          </Field>
          {typed !== undefined &&
            problems.slice(0, 5).map(({ entry, text }) => (
              <p className="notice error" key={`${entry} ${text}`}>
                {entry !== undefined && `${t.entry(entry + 1)}: `}
                {text}
              </p>
            ))}
        </div>
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

/** Reads permissions as the service would. `permissions` is undefined if it would refuse them. */
async function readPermissions(
  text: string,
): Promise<{ permissions?: readonly Permission[]; problems: readonly Problem[] }> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problems: [{ text: t.jsonInvalid }] };
  }
  const { problemsOf } = await import('./permission-check.ts');
  const problems = problemsOf(value);
  return problems.length > 0 ? { problems } : { permissions: value as Permission[], problems };
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
