// Several instances on one PostgreSQL. They share the cores with the load, so the figure is how the total changes with
// the number of instances.
import { join } from 'node:path';
import { fillPeople } from '../support/data.mjs';
import { load } from '../support/load.mjs';
import { median, ms, ratio, thousands } from '../support/numbers.mjs';
import { startService } from '../support/service.mjs';
import { fromTests } from '../support/typescript.mjs';
import { ownQuestion, target } from './authorize.mjs';
import { ASK, startReader } from './events.mjs';

const CONNECTIONS = 48;

/** Starts `count` instances on a separate PostgreSQL, and removes everything afterwards. */
async function withInstances({ scratch }, count, measure) {
  const { startPostgres } = await fromTests('support/postgres-server');
  const postgres = await startPostgres();
  const env = { LEGATE_SECRET: '0d'.repeat(32), LEGATE_BASE_URL: 'http://localhost:3000' };
  const services = [];
  try {
    const people = await fillPeople(postgres.url, 10);
    for (let i = 0; i < count; i++)
      services.push(await startService(postgres.url, join(scratch, `${count}-instances-${i}`), { pin: false, env }));
    const targets = services.map((service) => target(service, people.small.token, ownQuestion(scratch)));
    await measure({ targets, services, people, env: { ...env, LEGATE_DATABASE_URL: postgres.url } });
  } finally {
    for (const service of services) await service.stop();
    await postgres.remove();
  }
}

const FOLLOWERS = 100;
const RATE = 100;

/** Streams at one instance show decisions that the other one makes. */
async function measureEventsAcross({ quick, report }, { services, people }) {
  const [near, far] = services;
  const { reader, stop } = startReader();
  const decisions = (seconds) => ({
    do: 'decide',
    url: far.url,
    token: people.small.token,
    body: JSON.stringify(ASK),
    rate: RATE,
    seconds,
  });
  try {
    const paths = Array(FOLLOWERS).fill('/api/legate/events/stream?types=audit');
    await reader({ do: 'open', url: near.url, token: people.ownerToken, paths });
    await reader(decisions(2));
    const { p50, p99, missing } = await reader(decisions(quick ? 3 : 10));
    report(`an event at ${FOLLOWERS} streams of another instance, ${RATE} events a second, after the response`, {
      measured: `p50 ${ms(p50)}, p99 ${ms(p99)}, ${missing} missing`,
      bar: 'p99 <= 50 ms',
      ok: p99 <= 50 && missing === 0,
    });
  } finally {
    stop();
  }
}

/**
 * The latency of events across instances, and the total rate of one, two and three instances in turn, with the same
 * total number of connections.
 */
export async function measureInstances(context) {
  const { generator, rounds, seconds, report } = context;
  await withInstances(context, 2, (two) => measureEventsAcross(context, two));
  await withInstances(context, 3, async ({ targets }) => {
    const total = async (count) => {
      const used = targets.slice(0, count);
      const loads = await Promise.all(used.map((each) => load(generator, each, CONNECTIONS / count, seconds)));
      return { rps: loads.reduce((sum, { rps }) => sum + rps, 0), p99: Math.max(...loads.map(({ p99 }) => p99)) };
    };
    await total(3);
    const rows = [];
    for (let i = 0; i < rounds; i++) rows.push([await total(1), await total(2), await total(3)]);
    for (const count of [2, 3]) {
      const share = median(rows.map((row) => row[count - 1].rps / row[0].rps));
      const [rate, p99] = ['rps', 'p99'].map((figure) => median(rows.map((row) => row[count - 1][figure])));
      report(`${count} instances on one PostgreSQL against one, ${CONNECTIONS} connections in all`, {
        measured: `${ratio(share)} (${thousands(rate)}/s), p99 ${ms(p99)}`,
        bar: '>= 0.90',
        ok: share >= 0.9,
      });
    }
  });
}
