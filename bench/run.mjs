// npm run bench: measures the service and a raw node:http server on this machine, and prints each figure next to its
// target.
//
//   --quick        about a minute: fewer and shorter rounds
//   --only <name>  one of the parts below, or several separated by commas
//   --rows <n>     earlier decisions for the parts that need a long history; 1,000,000 by default
//
// Trust the ratios: both sides are loaded in turn within the same minute, and the median of the rounds counts.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine, loadGenerator, measureFsync } from './support/machine.mjs';
import { ms } from './support/numbers.mjs';

const PARTS = [
  'authorize',
  'idempotency',
  'records',
  'history',
  'postgres',
  'instances',
  'failover',
  'backup',
  'decide',
  'delegation',
  'agents',
  'oauth',
  'federation',
  'mcp',
  'gateway',
  'pages',
  'search',
  'replay',
  'export',
  'seal',
  'events',
  'sessions',
  'limits',
  'start',
  'console',
];
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    rows: { type: 'string', default: '1000000' },
  },
});
const only = values.only?.split(',') ?? PARTS;
const unknown = only.filter((name) => !PARTS.includes(name));
if (unknown.length > 0) {
  console.error(`--only takes ${PARTS.join(', ')}; not ${unknown.join(', ')}`);
  process.exit(2);
}

const root = resolve(import.meta.dirname, '..');
if (!existsSync(join(root, 'dist/cli.js'))) {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
const { measureAgents } = await import('./figures/agents.mjs');
const { checkRecords, fillHistory, measureAuthorize, measureHistory } = await import('./figures/authorize.mjs');
const { measureExport, measurePages } = await import('./figures/audit.mjs');
const { measureConsole } = await import('./figures/console.mjs');
const { measureDecide } = await import('./figures/decide.mjs');
const { measureEvents } = await import('./figures/events.mjs');
const { measureIdempotency } = await import('./figures/idempotency.mjs');
const { measureFederation } = await import('./figures/federation.mjs');
const { measureBackup } = await import('./figures/backup.mjs');
const { measureFailover } = await import('./figures/failover.mjs');
const { measureInstances } = await import('./figures/instances.mjs');
const { measureOAuth } = await import('./figures/oauth.mjs');
const { measureDelegation } = await import('./figures/delegation.mjs');
const { measureVerification } = await import('./figures/mcp.mjs');
const { measureGateway } = await import('./figures/gateway.mjs');
const { measurePostgres } = await import('./figures/postgres.mjs');
const { measureLimits } = await import('./figures/limits.mjs');
const { measureReplay } = await import('./figures/replay.mjs');
const { measureSeal } = await import('./figures/seal.mjs');
const { measureSearch } = await import('./figures/search.mjs');
const { measureSessions } = await import('./figures/sessions.mjs');
const { measureStart } = await import('./figures/start.mjs');

const generator = loadGenerator();
const scratch = mkdtempSync(join(tmpdir(), 'legate-bench-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** @type {{ name: string, measured: string, bar: string, ok: boolean, promise?: boolean }[]} */
const figures = [];
const report = (name, figure) => {
  figures.push({ name, ...figure });
  console.log(`${figure.ok ? 'ok  ' : 'MISS'} ${name}: ${figure.measured}`);
};
const context = {
  scratch,
  generator,
  report,
  quick: values.quick,
  rounds: values.quick ? 2 : 7,
  seconds: values.quick ? 1 : 2,
  rows: Number(values.rows),
};
const parts = {
  authorize: measureAuthorize,
  idempotency: measureIdempotency,
  records: checkRecords,
  history: measureHistory,
  postgres: measurePostgres,
  instances: measureInstances,
  failover: measureFailover,
  backup: measureBackup,
  decide: measureDecide,
  agents: measureAgents,
  oauth: measureOAuth,
  federation: measureFederation,
  delegation: measureDelegation,
  mcp: measureVerification,
  gateway: measureGateway,
  pages: measurePages,
  search: measureSearch,
  replay: measureReplay,
  export: measureExport,
  seal: measureSeal,
  events: measureEvents,
  sessions: measureSessions,
  limits: measureLimits,
  start: measureStart,
  console: measureConsole,
};

const startedAt = performance.now();
console.log(describeMachine(generator));
console.log(fsyncLine('before'));
if (only.some((name) => ['history', 'pages', 'search', 'replay', 'export', 'seal', 'console'].includes(name)))
  context.history = await fillHistory(scratch, Number(values.rows));
for (const name of only) {
  try {
    await parts[name](context);
  } catch (error) {
    report(name, {
      measured: error instanceof Error ? error.message : String(error),
      bar: 'runs',
      ok: false,
      promise: true,
    });
  }
}
console.log(`\n${fsyncLine('after')}, ${Math.round((performance.now() - startedAt) / 1000)} s in all\n`);
printTable();
// A missed target does not fail the run; a broken promise does.
process.exitCode = figures.some((f) => f.promise && !f.ok) ? 1 : 0;

function fsyncLine(when) {
  const { p50, p99 } = measureFsync(scratch);
  return `fdatasync ${when}: p50 ${ms(p50)}, p99 ${ms(p99)}`;
}

function printTable() {
  const rows = [
    ['figure', 'measured', 'bar', ''],
    ...figures.map((f) => [f.name, f.measured, f.bar, f.ok ? 'ok' : 'miss']),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  console.log([line(rows[0]), line(widths.map((w) => '-'.repeat(w))), ...rows.slice(1).map(line)].join('\n'));
}
