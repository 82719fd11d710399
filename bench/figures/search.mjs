// Searches in a long history: a page by one filter, the histogram, facets.
import { Agent, get } from 'node:http';
import { median, ms, quantile } from '../support/numbers.mjs';
import { atRest, startService } from '../support/service.mjs';

const agent = new Agent({ keepAlive: true });

/** Rounds until the code is compiled and the index of the filters is in memory. */
const WARM_UP = 10;

/** Sends a request with the owner's token. Returns the response and its duration. */
async function ask(service, token, path) {
  const start = performance.now();
  const response = await new Promise((resolve, reject) => {
    get(service.url + path, { agent, headers: { authorization: `Bearer ${token}` } }, resolve).once('error', reject);
  });
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}: ${text}`);
  return { body: JSON.parse(text), took: performance.now() - start };
}

const countOf = ({ counts }) => counts.allowed + counts.denied + counts.rate_limited;

export async function measureSearch({ history, report, quick }) {
  const { people, rows } = history;
  const service = await startService(history.databaseUrl, history.dataDir);
  const one = (list) => list[Math.floor(Math.random() * list.length)];
  const filters = [
    () => `agentId=${one(people.many)}`,
    () => `resource=mcp:server${Math.floor(Math.random() * 12)}:*`,
    () => 'resource=mcp:none:*',
    () => 'action=write',
    () => 'result=denied',
    () => 'not.result=allowed',
    () => 'reason=NO_PERMISSION',
    () => 'ip=192.0.2.7',
    () => 'clientId=cli_none',
  ];
  const rounds = quick ? 10 : 40;
  /** The durations of one kind of request, with each filter in turn, after rounds that are not measured. */
  const times = async (path) => {
    const took = [];
    for (let round = 0; round < WARM_UP + rounds; round++)
      for (const filter of filters) {
        const answer = await ask(service, people.ownerToken, `${path}${filter()}`);
        if (round >= WARM_UP) took.push(answer.took);
      }
    return took;
  };
  const figure = (took, bar) => ({
    measured: `p50 ${ms(median(took))}, p99 ${ms(quantile(took, 0.99))}`,
    bar: `p99 <= ${bar} ms`,
    ok: quantile(took, 0.99) <= bar,
  });
  try {
    // The newest rows are read into memory once, after a start.
    await ask(service, people.ownerToken, '/audit?limit=1');
    await atRest(service);
    report('GET /audit, page of 50 by one filter', figure(await times('/audit?limit=50&'), 10));
    report('GET /audit, page of 50 by one filter, oldest first', figure(await times('/audit?limit=50&order=asc&'), 10));
    report(
      'GET /audit/histogram by one filter, 200 buckets',
      figure(await times('/audit/histogram?buckets=200&'), 100),
    );
    for (const by of ['reason', 'action', 'resource', 'agentId', 'ip'])
      report(`GET /audit/facets by ${by}, one filter`, figure(await times(`/audit/facets?by=${by}&`), 100));
    const { body } = await ask(service, people.ownerToken, '/audit/histogram?buckets=200');
    const counted = body.buckets.reduce((sum, bucket) => sum + countOf(bucket), 0);
    report('histogram of the whole history', {
      measured: `${counted} of ${rows} rows`,
      bar: 'every row once',
      ok: counted === rows,
      promise: true,
    });
  } finally {
    await service.stop();
  }
}
