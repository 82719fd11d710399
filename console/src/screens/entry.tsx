import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AuditEntry, DecisionTrace, ExplainedAuditEntry, TracedEntry } from 'legate/client';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { EntryTable } from '../parts/entries.tsx';
import { download, fixtureOf } from '../parts/fixture.ts';
import { AgentLink, PersonLink, useKept, useNames, useParam } from '../parts/hooks.tsx';
import { ErrorNotice, Result, Screen, Section, Tabs } from '../parts/screen.tsx';
import { formatAmount, formatNumber, Id, Json, Status, Time, Untrusted } from '../parts/text.tsx';
import { ActorName, actorIds } from '../parts/versions.tsx';
import { t } from '../texts/index.ts';
import { unitOf } from './budget-unit.ts';
import { EntryProof } from './entry-proof.tsx';
import { writerOf } from './writer-of.ts';

/** One decision: its result, the path that led to it, and everything that was recorded. */
export function EntryScreen() {
  const id = useParam('id');
  const tab = useParam('tab');
  const explained = useKept(['audit', 'explain', id], () => legate.audit.explain(id));
  const around = useKept(
    ['audit', 'around', id],
    async () => (await legate.audit.list({ around: id, limit: 11 }).page()).items,
  );
  const entry = explained.data?.entry;
  const near = entry ? (around.data ?? []) : [];
  const older = near.filter((e) => e.seq < (entry?.seq ?? 0)).sort((a, b) => b.seq - a.seq)[0];
  const newer = near.filter((e) => e.seq > (entry?.seq ?? 0)).sort((a, b) => a.seq - b.seq)[0];
  return (
    <Screen
      title={t.decision}
      part={tab === 'proof' ? t.proof : undefined}
      curl={tab === 'proof' ? `/audit/${id}/proof` : `/audit/${id}/explain`}
      actions={
        <>
          {newer && (
            <Link className="button" to={`/audit/${newer.id}`} data-key="]">
              {t.later}
            </Link>
          )}
          {older && (
            <Link className="button" to={`/audit/${older.id}`} data-key="[">
              {t.earlier}
            </Link>
          )}
          {entry && (
            <Link
              className="button"
              to="/playground"
              search={
                {
                  agentId: entry.agentId,
                  action: entry.action,
                  resource: entry.resource,
                  ...(Object.keys(entry.parameters).length > 0 && { args: JSON.stringify(entry.parameters) }),
                } as never
              }
            >
              {t.askAgain}
            </Link>
          )}
          {entry && !entry.erased && (
            <>
              {rights.write && entry.reason === 'NO_PERMISSION' && (
                <Link
                  className="button"
                  to={`/agents/${entry.agentId}`}
                  search={{ add: entry.resource, actions: entry.action } as never}
                >
                  {t.allowFromNow}
                </Link>
              )}
              <SaveTest entry={entry} />
              <button type="button" className="button" onClick={() => print()}>
                {t.print}
              </button>
            </>
          )}
          {entry && rights.admin && !entry.erased && <EraseEntry id={id} />}
        </>
      }
    >
      <Tabs
        label={t.decision}
        tabs={[
          [`/audit/${id}`, t.decision],
          [`/audit/${id}/proof`, t.proof],
        ]}
      />
      {tab === 'proof' ? (
        <EntryProof id={id} />
      ) : (
        <Result of={explained} lines={8}>
          {(data) => <Explained data={data} />}
        </Result>
      )}
      {!explained.error && (
        <Section title={t.neighbours}>
          <Result of={around}>{(rows) => <EntryTable entries={rows} />}</Result>
        </Section>
      )}
    </Screen>
  );
}

/**
 * Saves the decision as a test for `legate test`. Limits are left out, because they count calls and a test is a single
 * question.
 */
function SaveTest({ entry }: { entry: AuditEntry }) {
  const nameOf = useNames([entry.agentId]);
  const save = useMutation({
    mutationFn: async () => {
      const text = fixtureOf(
        entry,
        nameOf(entry.agentId) ?? entry.agentId,
        await legate.agents.permissions(entry.agentId),
      );
      if (text) download(`${entry.id}.yaml`, text);
      return text !== undefined;
    },
  });
  if (entry.result === 'rate_limited' || entry.reason === 'BUDGET_EXCEEDED') return null;
  return (
    <>
      <button type="button" className="button" disabled={save.isPending} onClick={() => save.mutate()}>
        {t.saveTest}
      </button>
      {save.data === false && <span role="status">{t.noTest}</span>}
      {save.error && <ErrorNotice error={save.error} />}
    </>
  );
}

function EraseEntry({ id }: { id: string }) {
  return (
    <Action
      danger
      label={t.erase}
      question={t.eraseEntryQuestion}
      text={t.eraseEntryText}
      preview={() => legate.audit.erasures({ userId: undefined, auditIds: [id] }, { preview: true })}
      run={(reason) => legate.audit.erasures({ auditIds: [id], reason })}
      stale={['audit', 'facets', 'changes']}
    />
  );
}

function Explained({ data: { entry, trace, complete, asOf, policyChanged } }: { data: ExplainedAuditEntry }) {
  const nameOf = useNames([
    entry.agentId,
    entry.userId,
    entry.askedBy?.id,
    entry.askedBy?.userId,
    entry.askedBy?.clientId,
    ...entry.delegationIds,
  ]);
  return (
    <div className="screen">
      <p className="verdict">
        <Untrusted sentence>
          {t.verdict[entry.result as 'allowed'](nameOf(entry.agentId) ?? entry.agentId, entry.action, entry.resource)}
        </Untrusted>
      </p>
      <p className="actions">
        <Status of={entry.result} />
        {entry.reason && <span>{(t.reasons as Record<string, string>)[entry.reason] ?? entry.reason}</span>}
        <Time at={entry.timestamp} />
      </p>
      {entry.erased && <p className="notice">{t.erasedEntry}</p>}
      <Section title={t.authority}>
        <Authority entry={entry} nameOf={nameOf} />
      </Section>
      <Section title={t.why}>
        {asOf === null ? (
          <p className="notice warning">{t.asOfNow}</p>
        ) : (
          <p className="hint">{policyChanged ? t.asOfChanged : t.asOfThen}</p>
        )}
        {!complete && <p className="notice warning">{t.incomplete}</p>}
        <Trace trace={trace} at={entry.timestamp} />
      </Section>
      <Section title={t.arguments}>
        <Json value={entry.parameters} />
      </Section>
      <Section title={t.recorded}>
        <dl className="facts">
          <dt>{t.id}</dt>
          <dd>
            <Id>{entry.id}</Id>
          </dd>
          <dt>{t.sequence}</dt>
          <dd>{entry.seq}</dd>
          <dt>{t.address}</dt>
          <dd>{entry.ip ?? '–'}</dd>
          <dt>{t.userAgent}</dt>
          <dd>{entry.userAgent ? <Untrusted>{entry.userAgent}</Untrusted> : '–'}</dd>
          <dt>{t.duration}</dt>
          <dd>{t.milliseconds(formatNumber(entry.durationMs))}</dd>
        </dl>
        <details>
          <summary>{t.raw}</summary>
          <Json value={entry} />
        </details>
      </Section>
    </div>
  );
}

function Authority({ entry, nameOf }: { entry: AuditEntry; nameOf: (id: string) => string | undefined }) {
  const { askedBy, permission } = entry;
  return (
    <ol className="path">
      <li>
        {t.owner}: <PersonLink id={entry.userId} name={nameOf(entry.userId)} />
      </li>
      {askedBy && (
        <li>
          {t.askedBy}: {t.actors[askedBy.kind as 'user'] ?? askedBy.kind}{' '}
          {askedBy.id && <Untrusted>{nameOf(askedBy.id) ?? askedBy.id}</Untrusted>}
          {askedBy.clientId && (
            <>
              {' · '}
              {t.client} <Untrusted>{nameOf(askedBy.clientId) ?? askedBy.clientId}</Untrusted>
            </>
          )}
        </li>
      )}
      <li>
        {t.agent}: <AgentLink id={entry.agentId} name={nameOf(entry.agentId)} />
      </li>
      {entry.delegationIds.map((id) => (
        <li key={id}>
          {t.delegation}: <DelegationLink id={id} name={nameOf(id)} />
        </li>
      ))}
      {permission && (
        <li>
          {t.decidedBy}: <Untrusted mono>{permission.resource}</Untrusted>{' '}
          <span className="quiet">
            {permission.source.type === 'own' ? t.own : t.delegated(permission.source.delegationIds.length)}
          </span>
          <WrittenBy entry={entry} permission={permission} />
        </li>
      )}
      {entry.approvalId && (
        <li>
          {t.approval}: <Link to={`/approvals/${entry.approvalId}`}>{entry.approvalId}</Link>
        </li>
      )}
    </ol>
  );
}

/** Shows who added the deciding permission, and when. Empty if the reader may not see its versions. */
function WrittenBy({
  entry,
  permission: { resource, source },
}: {
  entry: AuditEntry;
  permission: NonNullable<AuditEntry['permission']>;
}) {
  // The last link of a chain is the one that the agent received.
  const link = source.type === 'delegation' ? source.delegationIds.at(-1) : undefined;
  const versions = useKept(['audit', 'versions', entry.id, link], async () => {
    const list = link
      ? legate.delegations.history(link, { limit: 100 })
      : legate.agents.history(entry.agentId, { limit: 100 });
    return (await list.page()).items;
  });
  const written = writerOf(versions.data ?? [], entry.seq, resource);
  const nameOf = useNames(actorIds(written?.actor));
  if (!written) return null;
  return (
    <div className="quiet">
      {t.writtenBy} <ActorName actor={written.actor} nameOf={nameOf} /> <Time at={written.at} />
      {written.reason && (
        <>
          {' '}
          <Untrusted>{`“${written.reason}”`}</Untrusted>
        </>
      )}
    </div>
  );
}

const sourcesOf = (entries: readonly TracedEntry[]): string[] =>
  entries.flatMap(({ source }) =>
    source.type === 'delegation' ? [source.delegationId, source.fromAgent, ...sourcesOf(source.entries ?? [])] : [],
  );

/** A delegation by the names of its agents, with a link to what it passes on. It may have ended. */
const DelegationLink = ({ id, name }: { id: string; name: string | undefined }) => (
  <Link to="/agents/graph" search={{ link: id, ended: 'true' } as never}>
    {name ? <Untrusted>{name}</Untrusted> : <code>{id}</code>}
  </Link>
);

/**
 * The budget that refused a call, or the MCP server whose limit did. A deleted one has only its id, and so has a budget
 * that was changed after the call, which another limit may have refused.
 */
function Limit({ id, at }: { id: string; at: string }) {
  const ofServer = id.startsWith('mcp_');
  const server = useNames([ofServer ? id : null])(id);
  const found = useKept(['budgets', 'one', id], () => legate.budgets.get(id), !ofServer).data;
  const budget = found && found.updatedAt <= at ? found : undefined;
  return (
    <Link to={ofServer ? `/connections/servers/${id}` : '/signals/costs'}>
      {budget ? t.limitOf(formatAmount(budget.limit), unitOf(budget), budget.window as 'day') : null}
      {server && <Untrusted>{server}</Untrusted>}
      {!budget && !server && <code>{id}</code>}
    </Link>
  );
}

const permissionText = ({ resource, actions }: { resource: string; actions: readonly string[] }): string =>
  `${resource} · ${actions.join(', ')}`;

/** @param at when the decision was made */
export function Trace({ trace, at }: { trace: DecisionTrace; at: string }) {
  const nameOf = useNames(sourcesOf(trace.entries));
  return (
    <>
      {trace.nearest && (
        <p className="notice">
          {t.nearest} <Untrusted mono>{permissionText(trace.nearest)}</Untrusted>{' '}
          {(t.outcomes as Record<string, string>)[trace.nearest.lacks] ?? trace.nearest.lacks}
        </p>
      )}
      {trace.refusedBy && (
        <p className="notice">
          {t.refusedBy} <Limit id={trace.refusedBy} at={at} />
        </p>
      )}
      {trace.entries.length === 0 ? (
        <p className="quiet">{t.noEntries}</p>
      ) : (
        <Traced entries={trace.entries} nameOf={nameOf} />
      )}
      {trace.omitted > 0 && <p className="quiet">{t.omitted(trace.omitted)}</p>}
    </>
  );
}

function Traced({ entries, nameOf }: { entries: readonly TracedEntry[]; nameOf: (id: string) => string | undefined }) {
  return (
    <ul className="path">
      {entries.map((e) => (
        <li key={e.index}>
          <Untrusted mono>{permissionText(e)}</Untrusted>{' '}
          <span className="quiet">
            {(t.outcomes as Record<string, string>)[e.outcome] ?? e.outcome}
            {e.limit !== undefined && ` (${e.used ?? 0}/${e.limit})`}
          </span>
          {e.source.type === 'delegation' && (
            <div>
              {t.delegation} <DelegationLink id={e.source.delegationId} name={nameOf(e.source.delegationId)} />{' '}
              {t.from.toLowerCase()} <AgentLink id={e.source.fromAgent} name={nameOf(e.source.fromAgent)} />
              {e.source.entries && <Traced entries={e.source.entries} nameOf={nameOf} />}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}
