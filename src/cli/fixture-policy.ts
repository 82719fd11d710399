import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isoTime } from '../lib/clock.ts';
import { LegateError } from '../lib/error.ts';
import { createLegate, type Legate } from '../service.ts';
import type { FixtureFile, FixtureTest } from './fixture-file.ts';
import type { Decided } from './fixture-report.ts';

const OWNER = 'fixtures';
/** Agents and delegations are made this long before the first test. */
const EARLIER_MS = 1;

/** Decides every test by a service of its own, with a clock that shows what each test says. */
export async function decideByPolicy(file: FixtureFile, policy: NonNullable<FixtureFile['policy']>): Promise<Decided[]> {
  const names = Object.keys(policy.value.agents);
  for (const [i, { agent }] of file.tests.entries())
    if (!names.includes(agent)) throw file.source.wrong(['tests', i, 'agent'], `there is no agent ${agent}: the policy has ${names.join(', ')}`);
  const usual = file.now ?? Date.now();
  const time = (test: FixtureTest): number => test.at ?? usual;
  const start = Math.min(...file.tests.map(time)) - EARLIER_MS;
  const decided: Decided[] = [];
  const plain = [...file.tests.keys()].filter((i) => !file.tests[i]?.after);
  await withWorld(policy, start, async (world) => {
    // The clock of a service never goes back.
    for (const i of plain.sort((a, b) => time(file.tests[a] as FixtureTest) - time(file.tests[b] as FixtureTest))) {
      const test = file.tests[i] as FixtureTest;
      decided[i] = await world.decide(test, time(test));
    }
  });
  for (const [i, test] of file.tests.entries()) if (test.after) decided[i] = await withWorld(policy, start, (world) => world.decide(test, time(test)));
  return decided;
}

interface World {
  decide(test: FixtureTest, at: number): Promise<Decided>;
}

async function withWorld<T>(policy: NonNullable<FixtureFile['policy']>, start: number, work: (world: World) => Promise<T>): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'legate-test-'));
  let now = start;
  try {
    const legate = await createLegate(
      { dataDir, databaseUrl: `sqlite:${join(dataDir, 'legate.db')}`, users: { allowExternalOwners: true }, agents: { maxPerOwner: 1_000_000 } },
      { clock: { now: () => now } },
    );
    try {
      const { agents, delegations } = await build(legate, policy);
      const nameOf = new Map([...agents].map(([name, id]) => [id, name]));
      return await work({
        decide: async (test, at) => {
          now = at;
          const question = {
            agentId: agents.get(test.agent) as string,
            action: test.action,
            resource: test.resource,
            ...(test.arguments ? { arguments: test.arguments } : {}),
            ...(test.ip ? { context: { ip: test.ip } } : {}),
          };
          for (let n = 0; n < (test.after ?? 0); n++) await legate.authorize(question);
          const answer = await legate.authorize({ ...question, dryRun: true, explain: true });
          return { ...answer, nameOf: (id) => nameOf.get(id) ?? delegations.get(id) ?? id };
        },
      });
    } finally {
      await legate.close();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Ids by name. Throws what the service says against an agent or a delegation, with its line. */
async function build(legate: Legate, { source, value }: NonNullable<FixtureFile['policy']>): Promise<{ agents: Map<string, string>; delegations: Map<string, string> }> {
  const attempt = async <R extends { id: string }>(path: (string | number)[], work: () => Promise<R>): Promise<string> => {
    try {
      return (await work()).id;
    } catch (error) {
      if (!(error instanceof LegateError)) throw error;
      const at = typeof error.details?.['path'] === 'string' ? error.details['path'].split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key)) : [];
      throw source.wrong([...path, ...at], `${error.code}: ${error.message}`);
    }
  };
  const ends = (expiresAt: number | undefined) => (expiresAt === undefined ? {} : { expiresAt: isoTime(expiresAt) });
  const agents = new Map<string, string>();
  for (const [name, { permissions, expiresAt }] of Object.entries(value.agents)) {
    agents.set(name, await attempt(['agents', name], () => legate.agents.create({ ownerId: OWNER, name, type: 'autonomous', permissions, ...ends(expiresAt) })));
  }
  const delegations = new Map<string, string>();
  for (const [i, { from, to, permissions, expiresAt, maxDepth }] of value.delegations.entries()) {
    const [fromAgent, toAgent] = [agents.get(from), agents.get(to)];
    if (fromAgent === undefined) throw source.wrong(['delegations', i, 'from'], `there is no agent ${from}`);
    if (toAgent === undefined) throw source.wrong(['delegations', i, 'to'], `there is no agent ${to}`);
    const id = await attempt(['delegations', i], () =>
      legate.delegations.create({ fromAgent, toAgent, permissions, ...ends(expiresAt), ...(maxDepth === undefined ? {} : { maxDepth }) }),
    );
    delegations.set(id, `${from} -> ${to}`);
  }
  return { agents, delegations };
}
