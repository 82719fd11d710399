import type { Agent } from 'legate/client';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { FormButton } from '../parts/form.tsx';
import { useKept } from '../parts/hooks.tsx';
import { Empty, Result, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

const STALE = ['agents', 'changes'];

/** The workloads that act as an agent with a token of their platform instead of a secret. */
export function Workloads({ agent }: { agent: Agent }) {
  const trust = useKept(['agents', 'trust', agent.id], () => legate.agents.trust.list(agent.id));
  const mayChange = rights.write && agent.status !== 'revoked';
  return (
    <Section title={t.workloads} aside={mayChange && <TrustWorkload agent={agent} />}>
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
    </Section>
  );
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Claims as lines of `name=value`. */
const claimsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    linesOf(text).map((line) => [line.split('=')[0]?.trim() ?? '', line.slice(line.indexOf('=') + 1).trim()]),
  );

function TrustWorkload({ agent }: { agent: Agent }) {
  // Only administrators and auditors see the list of issuers. Others enter the address.
  const known = useKept(['people', 'issuers'], () => legate.issuers.list(), rights.all);
  const offered = (known.data ?? []).filter(({ uses }) => uses.includes('workload'));
  return (
    <FormButton
      primary={false}
      label={t.trustWorkload}
      stale={STALE}
      inputs={[
        { name: 'issuer', label: t.issuerAddress, type: 'url', known: offered.map((i) => [i.issuer, i.name] as const) },
        { name: 'subject', label: t.workloadSubject, hint: t.workloadSubjectHint },
        {
          name: 'claims',
          label: t.furtherClaims,
          hint: t.furtherClaimsHint,
          type: 'lines',
          optional: true,
          wrong: (text) => (linesOf(text).every((line) => /^[^=]+=./.test(line)) ? undefined : t.claimLines),
        },
      ]}
      run={({ issuer, subject, claims }) =>
        legate.agents.trust.create(agent.id, {
          issuer: issuer.trim(),
          subject: subject.trim(),
          ...(claims.trim() && { claims: claimsOf(claims) }),
        })
      }
    />
  );
}
