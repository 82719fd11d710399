import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { INSTANCE_FAULTS, SHARED_FAULTS } from '../faults/faults.ts';
import { type Report, runFaults } from '../faults/run-faults.ts';
import { scratchFolder } from '../support/cli.ts';

/** A fixed seed and each of some faults once; or faults at random for as long as `npm run test:faults` says. */
const MINUTES = Number(process.env['LEGATE_TEST_FAULTS_MINUTES'] ?? 0);
const SEED = Number(process.env['LEGATE_TEST_SEED'] ?? 22);
const REPORT = process.env['LEGATE_TEST_FAULTS_REPORT'];

const IN_SHORT = [
  'instance killed (SIGKILL)',
  'connections to PostgreSQL swallow everything and break',
  'PostgreSQL killed (SIGKILL)',
  'every session of PostgreSQL ended',
  'failover to the synchronous standby',
  'Redis gone',
];

describe('three instances under faults', () => {
  it(
    'keep revocations, caps, single use and the ledger exact',
    async () => {
      const startedAt = performance.now();
      const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1);
      const all = [...INSTANCE_FAULTS, ...SHARED_FAULTS];
      const report: Report = await runFaults({
        cwd: scratchFolder(),
        seed: SEED,
        clients: MINUTES ? 12 : 6,
        faults: MINUTES ? { forMs: MINUTES * 60_000 } : all.filter(({ name }) => IN_SHORT.includes(name)),
        say: MINUTES ? (line) => console.log(`${seconds()} s: ${line}`) : () => {},
      });
      if (REPORT) writeFileSync(REPORT, JSON.stringify({ ...report, seed: SEED, minutes: MINUTES }));
      const { violations, ...figures } = report;
      console.log(JSON.stringify(figures));
      expect(violations.slice(0, 20)).toEqual([]);
      expect(report.decisions).toBeGreaterThan(100);
    },
    Math.max(180_000, MINUTES * 120_000),
  );
});
