import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/storage/index.ts';
import { type Random, random } from '../support/random.ts';
import { checkHistory } from './check-history.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { type Fault, INSTANCE_FAULTS, SHARED_FAULTS } from './faults.ts';
import type { LedgerRow, Operation, Violation } from './history.ts';
import { Recorder } from './recorder.ts';
import { Client } from './scenarios.ts';

export interface RunOptions {
  readonly cwd: string;
  readonly seed: number;
  readonly clients: number;
  /** The pause of a client between two scenarios. It leaves most of the processor time to other programs. */
  readonly pauseMs?: number;
  /** How long faults happen. Each fault happens at least once, even if that takes longer. */
  readonly forMs: number;
  readonly say?: (line: string) => void;
}

export interface Report {
  readonly violations: readonly Violation[];
  readonly faults: Readonly<Record<string, number>>;
  readonly scenarios: Readonly<Record<string, number>>;
  readonly requests: number;
  /** Requests that ended with 503 or without a response. */
  readonly failed: number;
  readonly decisions: number;
  readonly rows: number;
  /** The longest time in which no instance answered a decision with 200. */
  readonly longestSilenceMs: number;
  /** The longest time from the promotion of a standby until a later decision is answered with 200. */
  readonly longestFailoverMs: number | undefined;
}

const QUIET_MS = 2000;
const RECOVERY_MS = 30_000;

/** Runs clients on three instances during faults, and checks their history against the ledger. */
export async function runFaults(options: RunOptions): Promise<Report> {
  const { cwd, seed, say = () => {} } = options;
  const cluster = await startCluster(cwd);
  const recorder = new Recorder(cluster.instances);
  try {
    const owner = await ownerOf(cluster);
    let isOver = false;
    const clients = Array.from({ length: options.clients }, (_, i) =>
      new Client(recorder, random(seed + i), owner, `${i}`, () => isOver, options.pauseMs).run(),
    );
    const failed = Promise.all(clients);
    failed.catch(() => {});
    const happened: Record<string, number> = {};
    const happen = async (fault: Fault, numbers: Random): Promise<void> => {
      say(`${fault.name} ...`);
      await fault.run(cluster, numbers);
      happened[fault.name] = (happened[fault.name] ?? 0) + 1;
      say(`${fault.name}: over`);
    };
    await Promise.race([failed, schedule(options, happen)]);
    await sleep(QUIET_MS);
    await assertRecovered(cluster);
    isOver = true;
    const runs = await failed;
    const ledger = await readLedger(cluster);
    const { operations, caps } = recorder;
    const decided = operations.filter(({ what, status }) => what.kind === 'asked' && what.agentId && status === 200);
    return {
      violations: [...checkHistory({ operations, ledger, caps }), ...unexpectedErrors(cluster)],
      faults: happened,
      scenarios: runs.reduce(added, {}),
      requests: operations.filter(({ instance }) => instance >= 0).length,
      failed: operations.filter(({ status }) => status === undefined || status === 503).length,
      decisions: decided.length,
      rows: ledger.length,
      longestSilenceMs: longestGap(decided.map(({ endedAt }) => endedAt)),
      longestFailoverMs: longestFailover(cluster.postgres.promotions, decided),
    };
  } finally {
    recorder.close();
    await cluster.close();
  }
}

type Happen = (fault: Fault, numbers: Random) => Promise<void>;

/**
 * At most two faults happen at the same time: one of an instance, one of a shared service. Each fault of a list happens
 * before any is repeated.
 */
async function schedule({ forMs, seed }: RunOptions, happen: Happen): Promise<void> {
  const end = performance.now() + forMs;
  const loop = async (faults: readonly Fault[], pauseMs: number, numbers: Random): Promise<void> => {
    for (let isFirst = true; isFirst || performance.now() < end; isFirst = false)
      for (const fault of shuffled(faults, numbers)) {
        if (!isFirst && performance.now() >= end) break;
        await sleep(pauseMs + numbers.below(2 * pauseMs));
        await happen(fault, numbers);
      }
  };
  await Promise.all([loop(INSTANCE_FAULTS, 1000, random(seed - 1)), loop(SHARED_FAULTS, 3000, random(seed - 2))]);
}

function shuffled<T>(list: readonly T[], numbers: Random): T[] {
  const left = [...list];
  return list.map(() => left.splice(numbers.below(left.length), 1)[0] as T);
}

/**
 * Returns a new person with an API token that does not expire. A session expires, and a developer token cannot create a
 * token that outlives it.
 */
async function ownerOf({ instances }: Cluster): Promise<{ id: string; token: string }> {
  const post = async (path: string, body: object, bearer?: string): Promise<unknown> => {
    const headers = {
      'content-type': 'application/json',
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    };
    const answer = await fetch(`${instances[0]?.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  const person = { email: 'owner@example.com', password: 'four faults at a time' };
  const session = (await post('/sign-up', person)) as { token: string; user: { id: string } };
  const { token } = (await post('/api-tokens', { name: 'faults' }, session.token)) as { token: string };
  return { id: session.user.id, token };
}

/** Waits until every instance is ready again, without a restart. */
async function assertRecovered({ instances }: Cluster): Promise<void> {
  const deadline = performance.now() + RECOVERY_MS;
  for (const instance of instances) {
    for (;;) {
      const ready = await fetch(`${instance.url}/health/ready`).catch(() => undefined);
      const text = await ready?.text();
      if (ready?.status === 200) break;
      if (performance.now() > deadline) throw new Error(`instance ${instance.number} did not recover: ${text}`);
      await sleep(100);
    }
  }
}

/** Returns what the instances logged for each response with 500: the cause, which the response does not contain. */
const unexpectedErrors = ({ instances }: Cluster): Violation[] =>
  instances.flatMap(({ number, output }) =>
    output
      .split('\n')
      .filter((line) => line.includes('"unexpected error"'))
      .map((line) => ({ rule: 'no error is unexpected', detail: `instance ${number}: ${line}` })),
  );

async function readLedger({ postgres }: Cluster): Promise<LedgerRow[]> {
  const database = await openDatabase(postgres.url, { serviceName: 'legate' });
  try {
    const rows: LedgerRow[] = [];
    for (;;) {
      const page = await database.read
        .selectFrom('stream_events')
        .select(['seq', 'id', 'type', 'timestamp', 'agent_id as agentId', 'resource', 'result', 'reason'])
        .where('seq', '>', rows.at(-1)?.seq ?? 0)
        .orderBy('seq')
        .limit(10_000)
        .execute();
      if (page.length === 0) return rows;
      rows.push(...page);
    }
  } finally {
    await database.close();
  }
}

function longestFailover(promotions: readonly number[], decided: readonly Operation[]): number | undefined {
  if (promotions.length === 0) return undefined;
  return Math.max(
    ...promotions.map((at) => {
      const answers = decided.filter(({ startedAt }) => startedAt > at).map(({ endedAt }) => endedAt);
      return Math.min(...answers) - at;
    }),
  );
}

const added = (sum: Record<string, number>, runs: Record<string, number>): Record<string, number> => {
  for (const [name, count] of Object.entries(runs)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
};

const longestGap = (times: readonly number[]): number => {
  let [longest, last] = [0, undefined as number | undefined];
  for (const time of [...times].sort((a, b) => a - b)) {
    if (last !== undefined) longest = Math.max(longest, time - last);
    last = time;
  }
  return Math.round(longest);
};
