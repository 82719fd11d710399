import { Link } from '@tanstack/react-router';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { EntryTable } from '../parts/entries.tsx';
import { AgentLink, useKept, useNames, useParam } from '../parts/hooks.tsx';
import { RevokeAgent } from '../parts/revoke.tsx';
import { Result, Screen, Section } from '../parts/screen.tsx';
import { Id, Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { observationOf } from './observed.ts';

/** One anomaly: the observed value, the usual value, and the decisions that show it. */
export function AnomalyScreen() {
  const id = useParam('id');
  const anomaly = useKept(['anomalies', 'one', id], () => legate.anomalies.get(id));
  const one = anomaly.data;
  const nameOf = useNames([one?.agentId, one?.acknowledgedBy]);
  const agent = useKept(
    ['agents', 'one', one?.agentId],
    () => legate.agents.get(one?.agentId ?? ''),
    one !== undefined,
  );
  const evidence = useKept(
    ['audit', 'evidence', id],
    async () => (await legate.audit.list({ ids: (one?.evidence ?? []).slice(-50), limit: 50 }).page()).items,
    (one?.evidence.length ?? 0) > 0,
  );
  return (
    <Screen
      title={one ? (t.anomalyKinds[one.kind as 'rate_spike'] ?? one.kind) : t.anomaly}
      curl={`/anomalies/${id}`}
      actions={
        one && (
          <>
            <Link className="button" to="/audit" search={{ q: `agent:${one.agentId}` } as never}>
              {t.inAudit}
            </Link>
            {rights.write && (
              <Link className="button" to={`/agents/${one.agentId}`}>
                {t.tighten}
              </Link>
            )}
            {rights.write && agent.data?.status === 'active' && <RevokeAgent id={one.agentId} name={agent.data.name} />}
            {rights.write && one.status === 'open' && (
              <Action
                label={t.acknowledge}
                question={t.acknowledgeQuestion}
                run={(reason) => legate.anomalies.acknowledge(id, { note: reason })}
                stale={['anomalies', 'dashboard']}
              />
            )}
          </>
        )
      }
    >
      <Result of={anomaly}>
        {(a) => (
          <dl className="facts across">
            <dt>{t.agent}</dt>
            <dd>
              <AgentLink id={a.agentId} name={nameOf(a.agentId)} />
            </dd>
            <dt>{t.severity}</dt>
            <dd>
              <Status of={a.severity} />
            </dd>
            <dt>{t.state}</dt>
            <dd>
              <Status of={a.status} />
            </dd>
            <dt>{t.observed}</dt>
            <dd>
              <Untrusted>{observationOf(a).observed}</Untrusted>
            </dd>
            <dt>{observationOf(a).label}</dt>
            <dd>
              <Untrusted>{observationOf(a).expected}</Untrusted>
            </dd>
            <dt>{t.detected}</dt>
            <dd>
              <Time at={a.detectedAt} />
            </dd>
            <dt>{t.id}</dt>
            <dd>
              <Id>{a.id}</Id>
            </dd>
            {a.acknowledgedAt && (
              <>
                <dt>{t.status.acknowledged}</dt>
                <dd>
                  <Time at={a.acknowledgedAt} />{' '}
                  {a.acknowledgedBy && <Untrusted>{nameOf(a.acknowledgedBy) ?? a.acknowledgedBy}</Untrusted>}
                  {a.note && (
                    <>
                      : <Untrusted>{a.note}</Untrusted>
                    </>
                  )}
                </dd>
              </>
            )}
          </dl>
        )}
      </Result>
      {one && one.evidence.length > 0 && (
        <Section title={t.evidenceOf}>
          <Result of={evidence}>{(rows) => <EntryTable entries={rows} withAgent={false} />}</Result>
        </Section>
      )}
    </Screen>
  );
}
