// Replays of recorded decisions: one at a time with its explanation, and many with draft permissions.
import { load } from '../support/load.mjs';
import { median, ms, quantile, thousands } from '../support/numbers.mjs';
import { startService } from '../support/service.mjs';
import { ownQuestion, target } from './authorize.mjs';

const DECISIONS = 50_000;

export async function measureReplay({ scratch, generator, history, report, quick }) {
  const service = await startService(history.databaseUrl, history.dataDir);
  const { people } = history;
  const call = async (method, path, body) => {
    const start = performance.now();
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${people.ownerToken}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}`);
    return { answer, took: performance.now() - start };
  };
  try {
    const id = people.small.id;
    const written = async () => (await call('GET', `/audit?agentId=${id}&limit=1000`)).answer;
    for (let found = 0; found < DECISIONS; ) {
      const { rps } = await load(generator, target(service, people.small.token, ownQuestion(scratch)), 32, 2);
      found += Math.max(1, Math.floor(rps * 2));
    }
    const replay = `/agents/${id}/permissions/replay`;
    const permissions = [{ resource: 'mcp:*', actions: ['read'], constraints: { maxCallsPerHour: 1_000_000 } }];
    const rates = [];
    for (let i = 0; i < (quick ? 3 : 7); i++) {
      const { answer, took } = await call('POST', replay, { permissions, limit: DECISIONS });
      if (answer.examined !== DECISIONS) throw new Error(`The replay examined ${answer.examined} decisions.`);
      rates.push(answer.examined / (took / 1000));
    }
    report('replay of 50,000 decisions under a draft with a limit', {
      measured: `${thousands(median(rates))} decisions/s`,
      bar: '>= 100,000/s',
      ok: median(rates) >= 100_000,
    });
    const times = [];
    for (const entry of (await written()).slice(0, quick ? 100 : 500))
      times.push((await call('GET', `/audit/${entry.id}/explain`)).took);
    report('GET /audit/:id/explain as of the entry', {
      measured: `p50 ${ms(median(times))}, p99 ${ms(quantile(times, 0.99))}`,
      bar: 'p99 <= 20 ms',
      ok: quantile(times, 0.99) <= 20,
    });
    const lists = [];
    for (let i = 0; i < (quick ? 50 : 200); i++) lists.push((await call('GET', '/changes?limit=100')).took);
    report('GET /changes, newest 100', {
      measured: `p50 ${ms(median(lists))}, p99 ${ms(quantile(lists, 0.99))}`,
      bar: 'p99 <= 20 ms',
      ok: quantile(lists, 0.99) <= 20,
    });
  } finally {
    await service.stop();
  }
}
