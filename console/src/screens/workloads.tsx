import { useMutation } from '@tanstack/react-query';
import type { Agent } from 'legate/client';
import { useState } from 'react';
import { legate, queries, rights } from '../api.ts';
import { Action, Dialog } from '../parts/dialog.tsx';
import { Field, useKept } from '../parts/hooks.tsx';
import { Empty, ErrorNotice, Result, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

const STALE = ['agents', 'changes'];

/** The workloads that act as an agent with the token of their platform, without a secret of this service. */
export function Workloads({ agent }: { agent: Agent }) {
  const trust = useKept(['agents', 'trust', agent.id], () => legate.agents.trust.list(agent.id));
  const [adding, setAdding] = useState(false);
  const mayChange = rights.write && agent.status !== 'revoked';
  return (
    <Section
      title={t.workloads}
      aside={
        mayChange && (
          <button type="button" className="button" onClick={() => setAdding(true)}>
            {t.trustWorkload}
          </button>
        )
      }
    >
      <p>{t.workloadsText}</p>
      <Result of={trust}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>{t.noWorkloads}</Empty>
          ) : (
            <Table
              caption={t.workloads}
              rows={rows}
              rowKey={(w) => w.id}
              columns={[
                { label: t.issuer, cell: (w) => <Untrusted mono>{w.issuer}</Untrusted> },
                { label: t.workloadSubject, cell: (w) => <Untrusted mono>{w.subject}</Untrusted> },
                {
                  label: t.furtherClaims,
                  cell: (w) => (
                    <div className="tags">
                      {Object.entries({ ...w.claims, ...(w.audience && { aud: w.audience }) }).map(([name, value]) => (
                        <span className="tag" key={name}>
                          <Untrusted>{`${name} = ${value}`}</Untrusted>
                        </span>
                      ))}
                    </div>
                  ),
                },
                { label: t.created, cell: (w) => <Time at={w.createdAt} /> },
                ...(mayChange
                  ? [
                      {
                        label: t.change,
                        cell: (w: (typeof rows)[number]) => (
                          <Action
                            danger
                            label={t.endTrust}
                            question={t.endTrustQuestion(w.subject)}
                            text={t.endTrustText}
                            run={(reason) => legate.agents.trust.delete(agent.id, w.id, { reason })}
                            stale={STALE}
                          />
                        ),
                      },
                    ]
                  : []),
              ]}
            />
          )
        }
      </Result>
      {adding && <TrustDialog agent={agent} close={() => setAdding(false)} />}
    </Section>
  );
}

/** Claims as lines of `name=value`. */
const claimsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => [line.split('=')[0]?.trim() ?? '', line.slice(line.indexOf('=') + 1).trim()]),
  );

function TrustDialog({ agent, close }: { agent: Agent; close: () => void }) {
  const [issuer, setIssuer] = useState('');
  const [subject, setSubject] = useState('');
  const [claims, setClaims] = useState('');
  // Only administrators and auditors see the issuers; others know the address of theirs.
  const known = useKept(['people', 'issuers'], () => legate.issuers.list(), rights.all);
  const save = useMutation({
    mutationFn: () =>
      legate.agents.trust.create(agent.id, {
        issuer: issuer.trim(),
        subject: subject.trim(),
        ...(claims.trim() && { claims: claimsOf(claims) }),
      }),
    onSuccess: () => {
      for (const key of STALE) void queries.invalidateQueries({ queryKey: [key] });
      close();
    },
  });
  const offered = (known.data ?? []).filter(({ uses }) => uses.includes('workload'));
  return (
    <Dialog title={t.trustWorkload} close={close}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault();
          save.mutate();
        }}
      >
        <Field label={t.issuerAddress}>
          {(id) => (
            <>
              <input
                id={id}
                type="url"
                required
                list={`${id}-known`}
                value={issuer}
                onChange={(e) => setIssuer(e.target.value)}
              />
              <datalist id={`${id}-known`}>
                {offered.map((one) => (
                  <option key={one.id} value={one.issuer} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <Field label={t.workloadSubject} hint={t.workloadSubjectHint}>
          {(id) => <input id={id} required value={subject} onChange={(e) => setSubject(e.target.value)} />}
        </Field>
        <Field label={t.furtherClaims} hint={t.furtherClaimsHint}>
          {(id) => <textarea id={id} rows={3} value={claims} onChange={(e) => setClaims(e.target.value)} />}
        </Field>
        {save.error && <ErrorNotice error={save.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={close}>
            {t.cancel}
          </button>
          <button type="submit" className="button primary" disabled={save.isPending}>
            {t.trustWorkload}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
