import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { INSTANCE_FAULTS, SHARED_FAULTS } from '../faults/faults.ts';
import { runFaults } from '../faults/run-faults.ts';
import { scratchFolder } from '../support/cli.ts';

// Two minutes with fixed random numbers and clients that pause, or as long and as busy as `npm run test:faults` sets.
const MINUTES = Number(process.env['LEGATE_TEST_FAULTS_MINUTES'] ?? 2);
const SEED = Number(process.env['LEGATE_TEST_SEED'] ?? 22);
const REPORT = process.env['LEGATE_TEST_FAULTS_REPORT'];

it(
  'three instances under faults keep revocations, caps, single use and the ledger exact',
  async () => {
    const startedAt = performance.now();
    const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1);
    const report = await runFaults({
      cwd: scratchFolder(),
      seed: SEED,
      clients: REPORT ? 12 : 6,
      pauseMs: REPORT ? 0 : 200,
      forMs: MINUTES * 60_000,
      say: REPORT ? (line) => console.log(`${seconds()} s: ${line}`) : () => {},
    });
    if (REPORT) writeFileSync(REPORT, JSON.stringify({ ...report, seed: SEED, minutes: MINUTES }));
    const { violations, ...figures } = report;
    console.log(JSON.stringify(figures));
    expect(violations.slice(0, 20)).toEqual([]);
    const faults = [...INSTANCE_FAULTS, ...SHARED_FAULTS].map(({ name }) => name);
    expect(Object.keys(report.faults).sort()).toEqual(faults.sort());
    expect(report.decisions).toBeGreaterThan(100);
  },
  180_000 + MINUTES * 120_000,
);
