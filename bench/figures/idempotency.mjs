// The cost of an Idempotency-Key for a decision, and of the feature for decisions without a key.
import { join } from 'node:path';
import { fillPeople } from '../support/data.mjs';
import { load } from '../support/load.mjs';
import { median, ratio, thousands } from '../support/numbers.mjs';
import { cpuMs, startService } from '../support/service.mjs';
import { ownQuestion, target } from './authorize.mjs';

const CONNECTIONS = 64;

export async function measureIdempotency({ scratch, generator, rounds, seconds, report }) {
  const bodies = ownQuestion(scratch);
  const start = async (name) => {
    const dataDir = join(scratch, name);
    const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
    const people = await fillPeople(databaseUrl, 10);
    const service = await startService(databaseUrl, dataDir);
    return { service, ask: target(service, people.small.token, bodies) };
  };
  const [used, fresh] = [await start('keys'), await start('no-keys')];
  /** Decisions per second, and the processor time of the service for each, in microseconds. */
  const measure = async ({ service, ask }, keyed) => {
    const before = cpuMs(service.pid);
    const { requests, rps } = await load(generator, { ...ask, keyed }, CONNECTIONS, seconds);
    return { rps, micros: ((cpuMs(service.pid) - before) * 1000) / requests };
  };
  try {
    const keyed = [];
    const without = [];
    const unused = [];
    for (let i = -1; i < rounds; i++) {
      const round = [await measure(used, true), await measure(used, false), await measure(fresh, false)];
      // The first round is the warm-up.
      if (i >= 0) for (const [at, list] of [keyed, without, unused].entries()) list.push(round[at]);
    }
    for (const [what, a, b, bar] of [
      ['with an Idempotency-Key, against one without', without, keyed, 1.5],
      ['without a key where many are kept, against where none are', unused, without, 1.05],
    ]) {
      const cost = median(b.map(({ micros }, i) => micros / a[i].micros));
      const [x, y] = [a, b].map((runs) => thousands(median(runs.map(({ rps }) => rps))));
      report(`POST /authorize ${what}, 64 connections`, {
        measured: `${ratio(cost)} of the processor time; ${y}/s against ${x}/s`,
        bar: `<= ${ratio(bar)}`,
        ok: cost <= bar,
      });
    }
  } finally {
    await used.service.stop();
    await fresh.service.stop();
  }
}
