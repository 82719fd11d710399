// The load generator if wrk is missing: node autocannon.mjs <url> <connections> <seconds> <file of bodies> <token>
// [<beginning of the Idempotency-Key of each request>]
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

const [url, connections, seconds, file, token, key] = process.argv.slice(2);
const headers = {
  'content-type': 'application/json',
  'user-agent': 'legate-bench/1',
  authorization: `Bearer ${token}`,
};
const path = new URL(url).pathname;
const bodies = file === '-' ? [undefined] : readFileSync(file, 'utf8').trimEnd().split('\n');
let sent = 0;
const withKey = (request) => ({ ...request, headers: { ...headers, 'idempotency-key': `${key}-${++sent}` } });
const requests = bodies.map((body) =>
  body === undefined
    ? { method: 'GET', path, headers }
    : { method: 'POST', path, headers, body, ...(key ? { setupRequest: withKey } : {}) },
);
const result = await autocannon({ url, connections: Number(connections), duration: Number(seconds), requests });
console.log(
  JSON.stringify({
    requests: result.requests.total,
    bytes: result.throughput.total,
    micros: result.duration * 1e6,
    bad: result.non2xx,
    broken: result.errors + result.timeouts,
    p50: result.latency.p50,
    p99: result.latency.p99,
  }),
);
