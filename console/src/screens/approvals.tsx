import { Link } from '@tanstack/react-router';
import { type Approval, LegateError } from 'legate/client';
import { useEffect, useId, useRef, useState } from 'react';
import { legate, queries, rights, serverNow } from '../api.ts';
import { draftAt, dropDraft, useDraft } from '../drafts.ts';
import {
  AgentLink,
  Field,
  PersonLink,
  Select,
  useAddress,
  useChange,
  useKept,
  useNames,
  useParam,
} from '../parts/hooks.tsx';
import { pathsOf } from '../parts/paths.ts';
import { ErrorNotice, focusHeading, Result, Screen } from '../parts/screen.tsx';
import { EmptyPage, Pager } from '../parts/table.tsx';
import { formatAmount, Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { type Comparison, compareArguments } from './comparison.ts';

const STATES = ['pending', 'approved', 'denied', 'used', 'expired'] as const;
type State = (typeof STATES)[number];
/** A card that has just appeared or moved accepts no decision, because a click may have been meant for another card. */
const ARMED_AFTER_MS = 800;

export function Approvals() {
  const id = useParam('id');
  const [{ status = 'pending', cursor }, setAddress] = useAddress();
  const state = STATES.find((s) => s === status) ?? 'pending';
  const list = useKept(['approvals', id, state, cursor], async () =>
    id
      ? { items: [await legate.approvals.get(id)], next: undefined }
      : // Among the waiting ones, what expires first comes first.
        legate.approvals
          .list({ status: state, limit: 20, sort: state === 'pending' ? 'expiresAt' : '-createdAt' })
          .page(cursor),
  );
  const nameOf = useNames((list.data?.items ?? []).flatMap((a) => [a.agentId, a.resolvedBy]));
  const [elsewhere, setElsewhere] = useState<readonly string[]>([]);
  return (
    <Screen
      title={t.nav.approvals}
      curl={id ? `/approvals/${id}` : `/approvals?status=${state}${state === 'pending' ? '&sort=expiresAt' : ''}`}
    >
      {id ? (
        <p>
          <Link to="/approvals">{t.allApprovals}</Link>
        </p>
      ) : (
        <div className="filters">
          <Select
            label={t.state}
            value={state as State}
            options={STATES.map((s) => [s, t.status[s]] as const)}
            onChange={(value) => setAddress({ status: value, cursor: undefined })}
          />
        </div>
      )}
      {elsewhere.map((one) => (
        <Decided key={one} id={one} />
      ))}
      <Result of={list}>
        {({ items, next }) =>
          items.length === 0 ? (
            <EmptyPage cursor={cursor}>{state === 'pending' ? t.nothingWaits : t.nothingFits}</EmptyPage>
          ) : (
            <>
              {items.map((approval, place) => (
                <Card
                  key={approval.id}
                  approval={approval}
                  place={place}
                  nameOf={nameOf}
                  late={() => setElsewhere([...elsewhere, approval.id])}
                />
              ))}
              <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
            </>
          )
        }
      </Result>
    </Screen>
  );
}

/** The complete content of the call, without truncated or collapsed values. */
function Card({
  approval,
  place,
  nameOf,
  late,
}: {
  approval: Approval;
  place: number;
  nameOf: (id: string) => string | undefined;
  /** Shown if somebody else has decided or the request has expired. */
  late: () => void;
}) {
  const name = nameOf(approval.agentId) ?? approval.agentId;
  const titleId = useId();
  const values = pathsOf(approval.arguments);
  const pending = approval.status === 'pending';
  const earlier = useKept(
    ['approvals', 'earlier', approval.id],
    async () => {
      const { agentId, action, resource } = approval;
      const filter = { agentId, action, resource, result: 'allowed', order: 'desc', limit: 20 } as const;
      return (await legate.audit.list(filter).page()).items;
    },
    pending,
  );
  const withEarlier = pending && (earlier.data?.length ?? 0) > 0;
  const compared =
    earlier.data &&
    compareArguments(
      approval.arguments,
      earlier.data.map((e) => e.parameters),
    );
  return (
    <article className="card" aria-labelledby={titleId}>
      <h2 className="verdict" id={titleId}>
        <Untrusted sentence>{t.wants(name, approval.action, approval.resource)}</Untrusted>
      </h2>
      <p className="actions">
        <Status of={approval.status} />
        {pending ? (
          <TimeLeft until={approval.expiresAt} />
        ) : (
          <span>
            {t.until} <Time at={approval.expiresAt} />
          </span>
        )}
        <AgentLink id={approval.agentId} name={nameOf(approval.agentId)} />
        <Link to={`/audit/${approval.auditId}`}>{t.decision}</Link>
        {rights.write && (
          <Link
            to={`/agents/${approval.agentId}`}
            search={{ add: approval.resource, actions: approval.action } as never}
          >
            {t.makeRule}
          </Link>
        )}
      </p>
      {pending && <OnBehalf approval={approval} />}
      {Object.keys(approval.arguments).length === 0 ? (
        <p className="quiet">{t.noArguments}</p>
      ) : (
        <table>
          <caption className="sr">{t.arguments}</caption>
          <thead>
            <tr>
              <th scope="col">{t.path}</th>
              <th scope="col">{t.value}</th>
              {withEarlier && <th scope="col">{t.compared}</th>}
            </tr>
          </thead>
          <tbody>
            {values.map(({ path, value }) => (
              <tr key={path}>
                <td>
                  <Untrusted mono>{path}</Untrusted>
                </td>
                <td>
                  <Untrusted mono>{value}</Untrusted>
                  {/\[redacted\]/i.test(value) && <div className="hint">{t.redacted}</div>}
                </td>
                {withEarlier && (
                  <td>
                    <Compared of={compared?.get(path)} />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {pending && earlier.data && (
        <p className="hint">{earlier.data.length === 0 ? t.comparedNone : t.comparedOf(earlier.data.length)}</p>
      )}
      {pending ? (
        rights.write ? (
          <Decide approval={approval} titleId={titleId} place={place} late={late} />
        ) : (
          <p className="hint">{t.auditorNoDecision}</p>
        )
      ) : (
        approval.resolvedAt && (
          <p className="quiet">
            <Time at={approval.resolvedAt} />{' '}
            {approval.resolvedBy && <Untrusted>{nameOf(approval.resolvedBy) ?? approval.resolvedBy}</Untrusted>}
            {approval.note && (
              <>
                : <Untrusted>{approval.note}</Untrusted>
              </>
            )}
          </p>
        )
      )}
    </article>
  );
}

/** Shows for whom the agent acts: its owner, and the delegations that the decision examined. */
function OnBehalf({ approval }: { approval: Approval }) {
  const asked = useKept(['audit', 'one', approval.auditId], () => legate.audit.get(approval.auditId));
  const entry = asked.data;
  const nameOf = useNames([entry?.userId]);
  if (!entry) return null;
  return (
    <p className="quiet small">
      {t.owner}: <PersonLink id={entry.userId} name={nameOf(entry.userId)} />
      {entry.delegationIds.length > 0 && ` · ${t.delegated(entry.delegationIds.length)}`}
    </p>
  );
}

/** Countdown that follows the clock of the service. */
function TimeLeft({ until }: { until: string }) {
  const [now, setNow] = useState(serverNow());
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.round((Date.parse(until) - now) / 1000));
  return (
    <time dateTime={until} title={until} className={seconds < 60 ? 'status limited' : undefined}>
      {seconds === 0 ? t.status.expired : t.timeLeft(seconds)}
    </time>
  );
}

function Compared({ of }: { of: Comparison | undefined }) {
  if (!of) return null;
  if (of.kind === 'same') return <span className="quiet">{t.same(of.count, of.of)}</span>;
  return (
    <span className="status limited">
      {of.kind === 'outside'
        ? t.usualRange(formatAmount(of.low), formatAmount(of.high))
        : of.kind === 'never-given'
          ? t.neverGiven
          : t.neverSeen}
    </span>
  );
}

function Decide({
  approval,
  titleId,
  place,
  late,
}: {
  approval: Approval;
  titleId: string;
  place: number;
  late: () => void;
}) {
  const [armed, setArmed] = useState(false);
  const [seen, setSeen] = useState(false);
  const [note, setNote] = useState(() => draftAt<string>(approval.id) ?? '');
  useDraft(approval.id, note || undefined);
  const end = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    setArmed(false);
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [place]);
  useEffect(() => {
    // Approve is enabled when the end of the arguments has been in view.
    const observer = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && setSeen(true));
    observer.observe(end.current as HTMLElement);
    return () => observer.disconnect();
  }, []);
  const decide = useChange({
    mutationFn: (verb: 'approve' | 'deny') =>
      legate.approvals[verb](approval.id, note.trim() === '' ? {} : { note: note.trim() }),
    onSuccess: () => {
      dropDraft(approval.id);
      // The pressed button is disabled by now and goes away with the card.
      focusHeading();
    },
    onError: (error) => {
      if (!(error instanceof LegateError) || error.status !== 409) return;
      dropDraft(approval.id);
      late();
    },
    onSettled: () => {
      for (const key of ['approvals', 'dashboard']) void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  return (
    <>
      <p className="hint" ref={end}>
        {t.approvalMeans}
      </p>
      <Field label={t.noteOptional}>
        {(id) => <input id={id} maxLength={1000} value={note} onChange={(e) => setNote(e.target.value)} />}
      </Field>
      {decide.error && <ErrorNotice error={decide.error} />}
      <div className="twochoices">
        <button
          type="button"
          className="button"
          aria-describedby={titleId}
          disabled={!armed || decide.isPending}
          onClick={() => decide.mutate('deny')}
        >
          {t.deny}
        </button>
        <button
          type="button"
          className="button"
          aria-describedby={titleId}
          disabled={!armed || !seen || decide.isPending}
          onClick={() => decide.mutate('approve')}
        >
          {t.approve}
        </button>
      </div>
    </>
  );
}

/** The outcome of an approval that somebody else decided, or that expired, before this decision arrived. */
function Decided({ id }: { id: string }) {
  const approval = useKept(['approvals', 'decided', id], () => legate.approvals.get(id));
  const nameOf = useNames([approval.data?.resolvedBy]);
  return (
    <div className="notice warning" role="alert">
      <Result of={approval} lines={1}>
        {({ status, resolvedBy, resolvedAt, note }) => (
          <p>
            {t.decidedElsewhere} <Status of={status} /> <Time at={resolvedAt} />{' '}
            {resolvedBy && <Untrusted>{nameOf(resolvedBy) ?? resolvedBy}</Untrusted>}
            {note && (
              <>
                : <Untrusted>{note}</Untrusted>
              </>
            )}
          </p>
        )}
      </Result>
    </div>
  );
}
