import type { Registry } from 'prom-client';
import { packageVersion } from '../kernel/version.ts';
import type { Platform } from '../platform.ts';

/** What Node tells of the process is one for all services in it. */
let ofProcess: Promise<Registry> | undefined;

/** Loaded with the first scrape: a start does not wait for it. */
const load = async () => (await import('prom-client')).default;

async function processRegistry(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await load();
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}

/** Everything that is counted, in Prometheus' text format 0.0.4. */
export async function renderMetrics({
  counts,
  ledger,
  limits,
  database,
}: Platform): Promise<{ text: string; contentType: string }> {
  const { Counter, Gauge, Registry } = await load();
  const register = new Registry();
  const registers = [register];

  const requests = new Counter({
    name: 'legate_http_requests_total',
    help: 'HTTP requests by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  for (const [endpoint, status, count] of counts.requests.entries()) {
    const space = endpoint.indexOf(' ');
    requests.inc(
      {
        method: space === -1 ? '' : endpoint.slice(0, space),
        route: endpoint.slice(space + 1),
        status: String(status),
      },
      count,
    );
  }

  const decisions = new Counter({
    name: 'legate_decisions_total',
    help: 'Recorded decisions by result and reason.',
    labelNames: ['result', 'reason'],
    registers,
  });
  for (const [result, reason, count] of counts.decisions.entries())
    decisions.inc({ result, reason: String(reason) }, count);

  const refused = new Counter({
    name: 'legate_rate_limited_total',
    help: 'Requests that were answered 429, by the limit they met.',
    labelNames: ['limit'],
    registers,
  });
  for (const [limit, count] of limits.refusals) refused.inc({ limit }, count);
  if (limits.store) {
    new Gauge({
      name: 'legate_rate_limit_redis_up',
      help: '1: Redis counts for all instances. 0: each process counts alone.',
      registers,
    }).set(limits.store.up ? 1 : 0);
    new Counter({
      name: 'legate_rate_limit_fallbacks_total',
      help: 'Requests that were counted in this process because Redis did not answer.',
      registers,
    }).inc(limits.store.fallbacks);
  }

  const { batches, records, failures, queued } = ledger.stats;
  new Counter({ name: 'legate_ledger_batches_total', help: 'Transactions that recorded decisions.', registers }).inc(
    batches,
  );
  new Counter({ name: 'legate_ledger_records_total', help: 'Rows that these transactions recorded.', registers }).inc(
    records,
  );
  new Counter({
    name: 'legate_ledger_failures_total',
    help: 'Transactions that failed: their decisions were answered 503.',
    registers,
  }).inc(failures);
  new Gauge({
    name: 'legate_ledger_queue',
    help: 'Decisions that waited when the last transaction ended.',
    registers,
  }).set(queued);

  new Gauge({ name: 'legate_info', help: 'Version and database.', labelNames: ['version', 'database'], registers }).set(
    { version: packageVersion(), database: database.dialect },
    1,
  );

  ofProcess ??= processRegistry();
  return {
    text: `${await register.metrics()}\n${await (await ofProcess).metrics()}`,
    contentType: register.contentType,
  };
}
