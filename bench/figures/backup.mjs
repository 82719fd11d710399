// A backup of a million rows during decisions. The backup shares the cores with the service, the database and the load,
// so the figure is the slowdown of the slowest decisions.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fillAudit, fillPeople } from '../support/data.mjs';
import { load, run } from '../support/load.mjs';
import { median, ms, ratio, thousands } from '../support/numbers.mjs';
import { startService } from '../support/service.mjs';
import { fromTests } from '../support/typescript.mjs';
import { caughtUp, ownQuestion, target } from './authorize.mjs';

const CONNECTIONS = 8;
const cli = join(import.meta.dirname, '../../dist/cli.js');

/** p99 of decisions while `legate backup` runs, compared with before, on SQLite and PostgreSQL. */
export async function measureBackup(context) {
  const { startPostgres } = await fromTests('support/postgres-server');
  const postgres = await startPostgres();
  try {
    await measureOn(context, 'SQLite', `sqlite:${join(context.scratch, 'backup-sqlite/legate.db')}`);
    await measureOn(context, 'PostgreSQL', postgres.url);
  } finally {
    await postgres.remove();
  }
}

async function measureOn({ scratch, generator, rounds, seconds, rows, report }, name, databaseUrl) {
  const dataDir = join(scratch, `backup-${name.toLowerCase()}`);
  const env = { LEGATE_SECRET: '0d'.repeat(32), LEGATE_BASE_URL: 'http://localhost:3000' };
  const people = await fillPeople(databaseUrl, 100);
  await fillAudit(databaseUrl, people, rows);
  const service = await startService(databaseUrl, dataDir, { pin: false, env });
  const only = target(service, people.small.token, ownQuestion(scratch));
  const settings = { ...env, LEGATE_DATABASE_URL: databaseUrl, LEGATE_DATA_DIR: dataDir };
  const command = ['env', ...Object.entries(settings).map((each) => each.join('=')), process.execPath, cli, 'backup'];
  const measured = [];
  try {
    await caughtUp(service, databaseUrl, people, rows);
    await load(generator, only, CONNECTIONS, seconds);
    for (let i = 0; i < Math.min(rounds, 3); i++) {
      const quiet = await load(generator, only, CONNECTIONS, 5);
      const folder = join(scratch, `${name}-${i}`);
      const startedAt = performance.now();
      let tookMs;
      const saving = run([...command, folder]).then(() => {
        tookMs = performance.now() - startedAt;
      });
      const during = [];
      do during.push(await load(generator, only, CONNECTIONS, 2));
      while (tookMs === undefined);
      await saving;
      // The last round continues after the backup has ended.
      if (during.length > 1) during.pop();
      const p99 = median(during.map((each) => each.p99));
      measured.push({ factor: p99 / quiet.p99, quiet: quiet.p99, p99, tookMs });
      rmSync(folder, { recursive: true });
    }
  } finally {
    await service.stop();
  }
  const [factor, quiet, p99, tookMs] = ['factor', 'quiet', 'p99', 'tookMs'].map((figure) =>
    median(measured.map((each) => each[figure])),
  );
  report(`backup of ${thousands(rows)} rows on ${name} under load, ${CONNECTIONS} connections`, {
    measured:
      `${(tookMs / 1000).toFixed(1)} s; ` + `p99 of decisions ${ratio(factor)} times (${ms(quiet)} before, ${ms(p99)})`,
    bar: '<= 30 s, <= 2 times',
    ok: factor <= 2 && tookMs <= 30_000,
  });
}
