// Lists of 10,000 agents for people: summaries in each order, with a search, and with the activity of the agents.
import { join } from 'node:path';
import { fillAudit, fillPeople } from '../support/data.mjs';
import { ms, quantile, thousands } from '../support/numbers.mjs';
import { atRest, startService } from '../support/service.mjs';

const BAR_MS = 20;
const QUERIES = [
  'limit=50',
  'limit=50&sort=name',
  'limit=50&sort=-calls',
  'limit=50&sort=-lastDecisionAt',
  'limit=50&q=agent+77',
  'limit=50&idleSince=2100-01-01',
];

export async function measureAgents({ scratch, report, quick }) {
  const databaseUrl = `sqlite:${join(scratch, 'agents.db')}`;
  const count = quick ? 2000 : 10_000;
  const people = await fillPeople(databaseUrl, count);
  await fillAudit(databaseUrl, people, quick ? 20_000 : 100_000);
  const service = await startService(databaseUrl, join(scratch, 'agents'));
  const ask = async (query) => {
    const start = performance.now();
    const response = await fetch(`${service.url}/agents?view=summary&${query}`, {
      headers: { authorization: `Bearer ${people.ownerToken}` },
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`GET /agents?${query} answered ${response.status}`);
    return performance.now() - start;
  };
  try {
    for (const query of QUERIES) await ask(query);
    // The service seals, indexes and examines the decisions that were written before its start.
    await atRest(service);
    for (const query of QUERIES) {
      const times = [];
      for (let i = 0; i < (quick ? 100 : 500); i++) times.push(await ask(query));
      const p99 = quantile(times, 0.99);
      report(`GET /agents?view=summary&${query}, ${thousands(count)} agents`, {
        measured: `p50 ${ms(quantile(times, 0.5))}, p99 ${ms(p99)}`,
        bar: `p99 ${BAR_MS} ms`,
        ok: p99 <= BAR_MS,
      });
    }
  } finally {
    await service.stop();
  }
}
