import type { Registry } from 'prom-client';
import type { Histogram } from '../kernel/histogram.ts';
import { packageVersion } from '../kernel/version.ts';
import type { Platform } from '../platform.ts';
import { isUnavailable } from '../storage/index.ts';
import { checkReady } from './check-ready.ts';
import { addressesOf, listInstances } from './instances.ts';

/** Metrics of the process, shared by all services in it. */
let processMetrics: Promise<Registry> | undefined;

/** Gauges of prom-client named `_total`, a suffix for counters. The same names without it exist too. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Loaded with the first scrape, to keep the start fast. */
async function processRegistry(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = (await import('prom-client')).default;
  const register = new Registry();
  collectDefaultMetrics({ register });
  for (const name of MISNAMED) register.removeSingleMetric(name);
  return register;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

const escaped = (value: string): string => value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');

const sample = (name: string, labels: Labels, value: number): string => {
  const inside = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${inside.length > 0 ? `{${inside.join()}}` : ''} ${value}\n`;
};

const head = (name: string, type: 'counter' | 'gauge' | 'histogram', help: string): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;

const series = (name: string, type: 'counter' | 'gauge', help: string, samples: readonly Sample[]): string =>
  head(name, type, help) + samples.map(([labels, value]) => sample(name, labels, value)).join('');

function histogram(name: string, help: string, all: readonly (readonly [Labels, Histogram])[]): string {
  const lines = all.map(([labels, { bounds, counts, sum }]) => {
    let below = 0;
    const buckets = counts.map((count, i) => {
      below += count;
      return sample(`${name}_bucket`, { ...labels, le: i < bounds.length ? String(bounds[i]) : '+Inf' }, below);
    });
    return buckets.join('') + sample(`${name}_sum`, labels, sum) + sample(`${name}_count`, labels, below);
  });
  return head(name, 'histogram', help) + lines.join('');
}

/**
 * Renders all metrics in the Prometheus text format 0.0.4. Requests and decisions are counted in plain numbers and
 * rendered here, because a counter and a histogram of prom-client cost 1 µs per request, a fiftieth of a decision, and
 * loading it takes 0.1 s of the start.
 */
export async function renderMetrics(platform: Platform): Promise<{ text: string; contentType: string }> {
  processMetrics ??= processRegistry();
  const register = await processMetrics;
  // Runs first, because it queries the database and Redis for values that the others report, such as the offset of the
  // clock.
  const readiness = await ofReadiness(platform);
  const parts = [ofRequests(platform), ofDecisions(platform), ofLimits(platform), await ofModules(platform)];
  const info = { version: packageVersion(), database: platform.database.dialect };
  parts.push(readiness, await ofInstances(platform));
  parts.push(series('legate_info', 'gauge', 'Version and database.', [[info, 1]]));
  return { text: `${parts.join('')}${await register.metrics()}`, contentType: register.contentType };
}

function ofRequests({ counts }: Pick<Platform, 'counts'>): string {
  const used = counts.requests.used();
  return (
    series(
      'legate_http_requests_total',
      'counter',
      'HTTP requests by method, route and status.',
      used.flatMap(({ method, route, statuses }) =>
        [...statuses].map(([status, n]): Sample => [{ method, route, status: String(status) }, n]),
      ),
    ) +
    histogram(
      'legate_http_request_duration_seconds',
      'Time from the arrival of a request to its response, or to the start of a stream.',
      used.map(({ method, route, seconds }) => [{ method, route }, seconds]),
    )
  );
}

function ofDecisions({ counts, ledger }: Pick<Platform, 'counts' | 'ledger'>): string {
  const { batches, records, failures, queued } = ledger.stats;
  const decisions = [...counts.decisions.entries()].map(
    ([result, reason, n]): Sample => [{ result, reason: String(reason) }, n],
  );
  return [
    series('legate_decisions_total', 'counter', 'Recorded decisions by result and reason.', decisions),
    series('legate_ledger_batches_total', 'counter', 'Transactions that recorded decisions.', [[{}, batches]]),
    series('legate_ledger_records_total', 'counter', 'Rows that these transactions recorded.', [[{}, records]]),
    series('legate_ledger_failures_total', 'counter', 'Failed transactions, whose decisions were answered with 503.', [
      [{}, failures],
    ]),
    series('legate_ledger_queue', 'gauge', 'Decisions waiting at the end of the last transaction.', [[{}, queued]]),
    series(
      'legate_clock_offset_seconds',
      'gauge',
      'Minimum by which the clock of this process is ahead of the clock of the database.',
      [[{}, ledger.time.offMs / 1000]],
    ),
    series(
      'legate_ledger_ahead_seconds',
      'gauge',
      'Time by which the newest commit is ahead of the clock of the database.',
      [[{}, ledger.time.aheadMs / 1000]],
    ),
    histogram('legate_ledger_batch_size', 'Decisions recorded by one transaction.', [[{}, counts.batches]]),
  ].join('');
}

function ofLimits({ limits }: Pick<Platform, 'limits'>): string {
  const { store } = limits;
  const refused = [...limits.refusals].map(([limit, n]): Sample => [{ limit }, n]);
  return [
    series('legate_rate_limited_total', 'counter', 'Requests answered with 429, by limit.', refused),
    ...(store
      ? [
          series(
            'legate_rate_limit_redis_up',
            'gauge',
            '1 if limits are counted in Redis for all instances, 0 if each process counts on its own.',
            [[{}, store.up ? 1 : 0]],
          ),
          series(
            'legate_rate_limit_fallbacks_total',
            'counter',
            'Requests counted in this process because Redis did not respond.',
            [[{}, store.fallbacks]],
          ),
        ]
      : []),
  ].join('');
}

/** Metrics of the modules. Gauges that are read from the database are absent while it is unavailable. */
async function ofModules(platform: Platform): Promise<string> {
  const { counters, histograms } = platform;
  const counted = [
    ...counters.map(({ name, help, read }) => series(`legate_${name}`, 'counter', help, read(platform))),
    ...histograms.map(({ name, help, read }) => histogram(`legate_${name}`, help, read(platform))),
  ];
  const read = platform.gauges.map(({ name, help, read }) =>
    unlessUnavailable(async () => series(`legate_${name}`, 'gauge', help, [[{}, await read(platform)]])),
  );
  return [...(await Promise.all(read)), ...counted].join('');
}

const ofInstances = (
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'database' | 'instance' | 'ledger'>,
): Promise<string> =>
  unlessUnavailable(async () => {
    const instances = await listInstances(platform);
    return (
      series(
        'legate_instance_info',
        'gauge',
        'Always 1. The sum is the number of instances that run on the same database.',
        instances.map(({ id, host, version }): Sample => [{ instance: id, host, version }, 1]),
      ) +
      series('legate_base_urls', 'gauge', 'Different public addresses of the instances on the same database.', [
        [{}, addressesOf(instances).length],
      ])
    );
  });

async function ofReadiness(platform: Platform): Promise<string> {
  const { status } = await checkReady(platform);
  return series('legate_ready', 'gauge', '1 if GET /health/ready answers 200, otherwise 0.', [
    [{}, status === 'unavailable' ? 0 : 1],
  ]);
}

const unlessUnavailable = (read: () => Promise<string>): Promise<string> =>
  read().catch((error: unknown) => {
    if (isUnavailable(error)) return '';
    throw error;
  });
