// The loss of a PostgreSQL server with a synchronous standby: how soon each of three instances decides again.
import { join } from 'node:path';
import { fillPeople } from '../support/data.mjs';
import { median, ms, sleep } from '../support/numbers.mjs';
import { startService } from '../support/service.mjs';
import { fromTests } from '../support/typescript.mjs';

const INSTANCES = 3;
const PAUSE_MS = 10;
/** From the loss of the primary to the promotion of the standby. */
const LOST_FOR_MS = 1000;
const BAR_MS = 5000;
const QUESTION = JSON.stringify({ action: 'read', resource: 'db:customers' });

export async function measureFailover({ scratch, quick, report }) {
  const { PostgresPair } = await fromTests('faults/postgres-pair');
  const postgres = await PostgresPair.start();
  const services = [];
  let isOver = false;
  try {
    const people = await fillPeople(postgres.url, 10);
    const hosts = postgres.ports.map((port) => `127.0.0.1:${port}`).join(',');
    const url = `postgres://postgres:postgres@${hosts}/postgres?target_session_attrs=read-write`;
    const env = {
      LEGATE_SECRET: '0d'.repeat(32),
      LEGATE_BASE_URL: 'http://localhost:3000',
      LEGATE_LOG_LEVEL: 'silent',
    };
    for (let i = 0; i < INSTANCES; i++)
      services.push(await startService(url, join(scratch, `failover-${i}`), { pin: false, env }));
    /** For each instance, when each answered decision was asked for and answered. */
    const decided = services.map(() => []);
    const askers = services.map((service, i) => ask(service, people.small.token, decided[i], () => isOver));
    const waits = [];
    for (let round = 0; round < (quick ? 3 : 8); round++) {
      await sleep(1000);
      await postgres.failOver(LOST_FOR_MS);
      const promotedAt = postgres.promotions.at(-1);
      const first = (list) => list.find(({ askedAt }) => askedAt >= promotedAt)?.at;
      while (!decided.every(first)) await sleep(PAUSE_MS);
      waits.push(Math.max(...decided.map(first)) - promotedAt);
    }
    isOver = true;
    await Promise.all(askers);
    const worst = Math.max(...waits);
    report(`${INSTANCES} instances after the loss of the primary: all decide, from the promotion of the standby`, {
      measured: `${ms(median(waits))}, at worst ${ms(worst)} in ${waits.length} failovers`,
      bar: '<= 5 s',
      ok: worst <= BAR_MS,
    });
  } finally {
    isOver = true;
    for (const service of services) await service.stop();
    await postgres.remove();
  }
}

/** Asks one question after the other, and notes those that are answered with 200. */
async function ask(service, token, decided, isOver) {
  const request = { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } };
  while (!isOver()) {
    const askedAt = performance.now();
    const answer = await fetch(`${service.url}/authorize`, { ...request, body: QUESTION }).catch(() => undefined);
    await answer?.text().catch(() => {});
    if (answer?.status === 200) decided.push({ askedAt, at: performance.now() });
    await sleep(PAUSE_MS);
  }
}
