import { useQuery } from '@tanstack/react-query';
import type { Agent, Permission } from 'legate/client';
import { useCallback, useMemo, useState } from 'react';
import { legate, queries, rights } from '../api.ts';
import { draftAt, useDraft } from '../drafts.ts';
import { Conflict, isConflict } from '../parts/conflict.tsx';
import { Consequences, Dialog } from '../parts/dialog.tsx';
import { Field, useAddress, useChange, useKept } from '../parts/hooks.tsx';
import { Empty, ErrorNotice, Result, Section } from '../parts/screen.tsx';
import { LongTable } from '../parts/table.tsx';
import { jsonOf, Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import type { Problem } from './permission-check.ts';
import { type Draft, draftOf, entriesOf, lint, permissionOf, sentenceOf } from './permission-draft.ts';
import { useKnown } from './permission-entry.tsx';
import { AsJson, MemoEntry, NO_PROBLEMS, PAGE, Pages } from './permission-pages.tsx';

/** Shows the current permissions of the agent, and edits a draft of its own ones. */
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
              <LongTable
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

const asText = (drafts: readonly Draft[]): string => jsonOf(drafts.map(permissionOf));

/** An unsent change. */
interface Unsent {
  readonly drafts: readonly Draft[];
  readonly typed?: string | undefined;
  /** The time of the version of the agent from which the draft was made. */
  readonly since: string;
  /** The permission in a link. It is added once, even if the page is reloaded. */
  readonly brought?: string | undefined;
}

function Editor({ agent: latest }: { agent: Agent }) {
  const [{ add, actions = '' }, setAddress] = useAddress();
  // Links from decisions and approvals contain the narrowest permission that would have allowed the call.
  const [returned] = useState(() => draftAt<Unsent>('permissions'));
  const brought = add && `${add} ${actions}`;
  const added = add && brought !== returned?.brought ? [draftOf({ resource: add, actions: actions.split(' ') })] : [];
  /** The version from which the draft was made. Later versions do not overwrite the input. */
  const [agent, setAgent] = useState(latest);
  const [since, setSince] = useState(returned?.since ?? latest.updatedAt);
  const [changed, setChanged] = useState(returned !== undefined || add !== undefined);
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => [
    ...(returned?.drafts ?? agent.permissions.map(draftOf)),
    ...added,
  ]);
  /** The JSON input while it differs from the fields. */
  const [typed, setTyped] = useState<string | undefined>(added.length > 0 ? undefined : returned?.typed);
  const unsent = useMemo(
    (): Unsent | undefined => (changed ? { drafts, typed, since, brought } : undefined),
    [changed, drafts, typed, since, brought],
  );
  useDraft('permissions', unsent);
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [asking, setAsking] = useState<readonly Permission[]>();
  const known = useKnown(agent);
  const [filter, setFilter] = useState('');
  const [page, setPage] = useState(0);
  const change = useCallback((next: (drafts: readonly Draft[]) => readonly Draft[]): void => {
    setDrafts(next);
    setTyped(undefined);
    setChanged(true);
    setProblems((old) => (old.length > 0 ? [] : old));
  }, []);
  const begin = (version: Agent): void => {
    setAgent(version);
    setSince(version.updatedAt);
    setDrafts(version.permissions.map(draftOf));
    setTyped(undefined);
    setProblems([]);
    setChanged(false);
  };
  if (!changed && latest.updatedAt > agent.updatedAt) begin(latest);
  const edit = useCallback(
    (index: number, patch: Partial<Draft>) =>
      change((all) => all.map((draft, i) => (i === index ? { ...draft, ...patch } : draft))),
    [change],
  );
  const remove = useCallback((index: number) => change((all) => all.filter((_, i) => i !== index)), [change]);
  // Long lists are shown in pages, so that typing stays fast.
  const found = useMemo(
    () => drafts.flatMap((draft, i) => (filter.trim() === '' || isLike(draft, filter) ? [i] : [])),
    [drafts, filter],
  );
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const at = Math.min(page, pages - 1);
  const show = (index: number): void => {
    setFilter('');
    setPage(Math.floor(index / PAGE));
  };
  /** A problem that is neither next to an entry nor below the JSON, or that is not one of the draft. */
  const general = problems.find(
    ({ entry, text }) => entry === undefined && (typed === undefined || text === t.partMissing),
  );
  const take = async (text: string): Promise<void> => {
    setTyped(text);
    setChanged(true);
    const read = await readPermissions(text);
    setProblems(read.problems);
    if (read.permissions) setDrafts(read.permissions.map(draftOf));
  };
  const review = async (): Promise<void> => {
    const read = await readPermissions(typed ?? asText(drafts));
    setProblems(read.problems);
    const first = read.problems.find(({ entry }) => entry !== undefined)?.entry;
    if (typed === undefined && first !== undefined) show(first);
    setAsking(read.permissions);
  };
  return (
    <Section title={t.editPermissions}>
      {changed && latest.updatedAt > since && (
        <Conflict id={agent.id} type="agent.updated" text={t.changedElsewhere} again={() => begin(latest)} />
      )}
      <div className="editor">
        <div className="form">
          {drafts.length > PAGE && (
            <Field label={t.findPermission}>
              {(id) => (
                <input
                  id={id}
                  type="search"
                  value={filter}
                  onChange={(e) => {
                    setFilter(e.target.value);
                    setPage(0);
                  }}
                />
              )}
            </Field>
          )}
          {found.slice(at * PAGE, (at + 1) * PAGE).map((index) => {
            const draft = drafts[index] as Draft;
            return (
              <MemoEntry
                key={index}
                index={index}
                draft={draft}
                lints={lint(draft, drafts).join(' ')}
                problems={typed === undefined ? problems.filter((one) => one.entry === index) : NO_PROBLEMS}
                known={known}
                edit={edit}
                remove={remove}
              />
            );
          })}
          {drafts.length > PAGE && <Pages page={at} pages={pages} count={found.length} go={setPage} />}
          <div className="actions">
            <button
              type="button"
              className="button"
              onClick={() => {
                change((all) => [...all, draftOf({ resource: '', actions: [] })]);
                show(drafts.length);
              }}
            >
              {t.addEntry}
            </button>
            {changed && (
              <button
                type="button"
                className="button"
                onClick={() => {
                  begin(latest);
                  setAddress({ add: undefined, actions: undefined });
                }}
              >
                {t.discardChanges}
              </button>
            )}
            <button type="button" className={changed ? 'button primary' : 'button'} onClick={() => void review()}>
              {t.reviewChanges}
            </button>
          </div>
          {problems.length > 0 && (
            <p className="notice error" role="alert">
              {general?.text ?? t.draftProblems(problems.length)}
            </p>
          )}
        </div>
        <AsJson
          text={typed ?? asText(drafts)}
          many={drafts.length > PAGE}
          problems={typed === undefined ? NO_PROBLEMS : problems}
          take={(text) => void take(text)}
        />
      </div>
      {asking && (
        <Review
          agent={agent}
          permissions={asking}
          close={() => setAsking(undefined)}
          saved={(next) => {
            begin(next);
            setAddress({ add: undefined, actions: undefined });
          }}
          again={() => begin(latest)}
        />
      )}
    </Section>
  );
}

const isLike = ({ resource, actions }: Draft, filter: string): boolean =>
  `${resource} ${actions.join(' ')}`.includes(filter.trim());

/** Parses permissions as the service would. `permissions` is undefined if the service would refuse them. */
async function readPermissions(
  text: string,
): Promise<{ permissions?: readonly Permission[]; problems: readonly Problem[] }> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problems: [{ text: t.jsonInvalid }] };
  }
  let problems: readonly Problem[];
  try {
    problems = (await import('./permission-check.ts')).problemsOf(value);
  } catch {
    return { problems: [{ text: t.partMissing }] };
  }
  return problems.length > 0 ? { problems } : { permissions: value as Permission[], problems };
}

/** The entries that a draft adds and removes. */
function PermissionChanges({ before, after }: { before: readonly Permission[]; after: readonly Permission[] }) {
  const lines = (all: readonly Permission[]): string[] => all.map(sentenceOf);
  const [old, next] = [new Set(lines(before)), new Set(lines(after))];
  const changes = [
    ...[...old].filter((line) => !next.has(line)).map((line) => ['−', t.before, line] as const),
    ...[...next].filter((line) => !old.has(line)).map((line) => ['+', t.after, line] as const),
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

/** The consequences of a draft: the agents that could do less, and the recorded decisions with another result. */
function Review({
  agent,
  permissions,
  close,
  saved,
  again,
}: {
  agent: Agent;
  permissions: readonly Permission[];
  close: () => void;
  saved: (agent: Agent) => void;
  again: () => void;
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
  const save = useChange({
    mutationFn: () =>
      legate.agents.update(
        agent.id,
        { permissions, ...(reason.trim() && { reason: reason.trim() }) },
        { ifMatch: agent },
      ),
    onSuccess: (next) => {
      for (const key of ['agents', 'delegations', 'changes']) void queries.invalidateQueries({ queryKey: [key] });
      saved(next);
      close();
    },
  });
  const conflict = isConflict(save.error);
  return (
    <Dialog title={t.saveQuestion(agent.name)} close={save.isPending ? undefined : close}>
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
        <Conflict
          id={agent.id}
          type="agent.updated"
          text={t.changedElsewhere}
          again={() => {
            again();
            void queries.invalidateQueries({ queryKey: ['agents'] });
            close();
          }}
        />
      ) : (
        save.error && <ErrorNotice error={save.error} />
      )}
      <div className="actions">
        <button type="button" className="button" disabled={save.isPending} onClick={close}>
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
