import { useMutation } from '@tanstack/react-query';
import { useId, useMemo, useState } from 'react';
import { legate } from '../api.ts';
import { draftAt, useDraft } from '../drafts.ts';
import { download } from '../parts/fixture.ts';
import { AgentLink } from '../parts/hooks.tsx';
import { ErrorNotice, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { Status, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import type { FixtureFile } from './fixture-read.ts';

type Test = FixtureFile['tests'][number];

/** The result of one test. */
interface Outcome {
  readonly agentId?: string;
  /** The decision, or undefined if the test could not be run. */
  readonly answer?: { readonly allowed: boolean; readonly reason?: string | undefined };
  readonly passed?: boolean;
  /** Why the test could not be run. */
  readonly why?: string;
}

const BATCH = 100;

interface Unsaved {
  readonly file: FixtureFile;
  readonly name: string;
}

/** Tests of a file for `legate test`, run as dry runs with the agents of this service. */
export function FixtureTests({ asked }: { asked: Test | undefined }) {
  const id = useId();
  const [returned] = useState(() => draftAt<Unsaved>('tests'));
  const [file, setFile] = useState(returned?.file);
  const [name, setName] = useState(returned?.name ?? 'permissions.test.json');
  useDraft(
    'tests',
    useMemo((): Unsaved | undefined => file && { file, name }, [file, name]),
  );
  const [problems, setProblems] = useState<readonly string[]>([]);
  const run = useMutation({ mutationFn: runAll });
  const change = (next: FixtureFile | undefined): void => {
    setFile(next);
    run.reset();
  };
  const load = async (chosen: File): Promise<void> => {
    const program = await import('./permission-check.ts').catch(() => undefined);
    if (!program) return setProblems([t.partMissing]);
    const read = await program.readFixtures(await chosen.text());
    setProblems(read.problems);
    change(read.file);
    setName(chosen.name.replace(/\.(ya?ml|json)$/, '.json'));
  };
  const tests = file?.tests ?? [];
  const outcomes = run.data;
  const count = (passed: boolean | undefined): number => (outcomes ?? []).filter((o) => o.passed === passed).length;
  return (
    <Section title={t.fixtures}>
      <p className="hint">{t.fixturesHint}</p>
      <div className="field">
        <label htmlFor={id}>{t.fixtureFile}</label>
        <input
          id={id}
          type="file"
          accept=".yaml,.yml,.json"
          onChange={(e) => {
            const [chosen] = e.target.files ?? [];
            if (chosen) void load(chosen);
          }}
        />
      </div>
      {problems.map((problem) => (
        <p className="notice error" role="alert" key={problem}>
          <Untrusted>{problem}</Untrusted>
        </p>
      ))}
      <div className="actions">
        {asked && (
          <button
            type="button"
            className="button"
            onClick={() => change({ delegations: [], ...file, tests: [...tests, asked] })}
          >
            {t.addTest}
          </button>
        )}
        {file && (
          <>
            <button type="button" className="button primary" disabled={run.isPending} onClick={() => run.mutate(file)}>
              {t.runTests(tests.length)}
            </button>
            <button type="button" className="button" onClick={() => download(name, textOf(file))}>
              {t.exportTests}
            </button>
          </>
        )}
      </div>
      {run.error && <ErrorNotice error={run.error} />}
      {outcomes && <p role="status">{t.testsRun(count(true), count(false), count(undefined))}</p>}
      {file && (
        <Table
          caption={t.fixtures}
          rows={tests.slice(0, SHOWN).map((test, i) => ({ test, outcome: outcomes?.[i] }))}
          rowKey={(_, i) => String(i)}
          columns={[
            {
              label: t.result,
              cell: ({ outcome: { passed, why } = {} }) => {
                if (why !== undefined) return <span className="quiet">{why}</span>;
                return passed === undefined ? '–' : <Status of={passed ? 'passed' : 'failed'} />;
              },
            },
            {
              label: t.name,
              cell: ({ test }) => (
                <Untrusted>{test.name ?? `${test.agent}: ${test.action} ${test.resource}`}</Untrusted>
              ),
            },
            {
              label: t.agent,
              cell: ({ test, outcome }) =>
                outcome?.agentId ? (
                  <AgentLink id={outcome.agentId} name={test.agent} />
                ) : (
                  <Untrusted>{test.agent}</Untrusted>
                ),
            },
            { label: t.question, cell: ({ test }) => <Untrusted mono>{`${test.action} ${test.resource}`}</Untrusted> },
            { label: t.expected, cell: ({ test }) => reasonText(test.expect) },
            {
              label: t.answer,
              cell: ({ outcome: { answer } = {} }) =>
                answer ? reasonText(answer.allowed ? 'allowed' : (answer.reason ?? 'denied')) : '–',
            },
          ]}
        />
      )}
      {tests.length > SHOWN && <p className="quiet">{t.testsNotShown(tests.length - SHOWN)}</p>}
    </Section>
  );
}

const SHOWN = 200;

const reasonText = (code: string): string =>
  (t.reasons as Record<string, string>)[code] ?? (t.status as Record<string, string>)[code] ?? code;

const iso = (ms: number): string => new Date(ms).toISOString();

/** Returns the file as JSON, which `legate test` reads too. */
const textOf = ({ now, tests, agents, delegations, policy }: FixtureFile): string =>
  `${JSON.stringify(
    {
      ...(policy !== undefined && { policy }),
      ...(agents && { agents: timesOf(agents) }),
      ...(delegations.length > 0 && {
        delegations: delegations.map((d) => ({
          ...d,
          ...(d.expiresAt !== undefined && { expiresAt: iso(d.expiresAt) }),
        })),
      }),
      ...(now !== undefined && { now: iso(now) }),
      tests: tests.map((test) => ({ ...test, ...(test.at !== undefined && { at: iso(test.at) }) })),
    },
    null,
    2,
  )}\n`;

const timesOf = (agents: NonNullable<FixtureFile['agents']>) =>
  Object.fromEntries(
    Object.entries(agents).map(([name, agent]) => [
      name,
      { ...agent, ...(agent.expiresAt !== undefined && { expiresAt: iso(agent.expiresAt) }) },
    ]),
  );

/**
 * Asks every question as a dry run. An agent is an id, or a name that only one active agent has. Permissions in the
 * file replace the agent's own.
 */
async function runAll(file: FixtureFile): Promise<Outcome[]> {
  const { isExpected } = await import('./permission-check.ts');
  const ids = await idsOf([...new Set(file.tests.map((test) => test.agent))]);
  const outcomes: Outcome[] = file.tests.map((test) => {
    const found = ids.get(test.agent) ?? [];
    if (test.after) return { why: t.needsCounters };
    if (file.delegations.some(({ to }) => to === test.agent)) return { why: t.needsDelegations };
    if (file.policy !== undefined) return { why: t.needsPolicy };
    return found.length === 1 ? { agentId: found[0] as string } : { why: t.agentsNamed(found.length) };
  });
  const runnable = outcomes.flatMap(({ agentId }, i) => (agentId ? [i] : []));
  for (let from = 0; from < runnable.length; from += BATCH) {
    const part = runnable.slice(from, from + BATCH);
    const { results } = await legate.authorizeBatch({
      requests: part.map((i) => questionOf(file, file.tests[i] as Test, outcomes[i]?.agentId as string)),
    });
    for (const [n, result] of results.entries()) {
      const i = part[n] as number;
      if (!('allowed' in result)) {
        outcomes[i] = { why: t.agentsNamed(0) };
        continue;
      }
      const { allowed, reason } = result;
      outcomes[i] = {
        ...outcomes[i],
        answer: { allowed, reason },
        passed: isExpected((file.tests[i] as Test).expect, { allowed, reason }),
      };
    }
  }
  return outcomes;
}

function questionOf({ agents, now }: FixtureFile, test: Test, agentId: string) {
  const draft = agents?.[test.agent]?.permissions;
  const at = test.at ?? now;
  return {
    agentId,
    action: test.action,
    resource: test.resource,
    ...(test.arguments && { arguments: test.arguments }),
    ...(test.ip && { context: { ip: test.ip } }),
    ...(draft && { permissions: draft }),
    ...(at !== undefined && { at: iso(at) }),
    dryRun: true,
  };
}

async function idsOf(names: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const ids = new Map<string, string[]>(names.filter((n) => n.startsWith('agt_')).map((id) => [id, [id]]));
  for (const name of names.filter((n) => !ids.has(n)).slice(0, 200)) {
    const found: string[] = [];
    // The service finds all names that begin with this one.
    for await (const agent of legate.agents.list({ view: 'summary', status: 'active', q: name, limit: 200 }))
      if (agent.name === name) found.push(agent.id);
    ids.set(name, found);
  }
  return ids;
}
