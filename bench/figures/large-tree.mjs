// Proofs in a tree of 100 million rows. The rows of the benchmark and their tiles are real; the other tiles contain
// random hashes, which takes half a minute and 5 GB instead of hours.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import Database from 'libsql';
import { addAdmin, fillPeople } from '../support/data.mjs';
import { load } from '../support/load.mjs';
import { median, ms, quantile, sleep, thousands } from '../support/numbers.mjs';
import { startService } from '../support/service.mjs';
import { ownQuestion, target } from './authorize.mjs';

const SIZE = 100_000_000;
const TILE = 256;
const HASH = 32;
const SALT = 16;

export async function measureLargeTree({ scratch, generator, report, quick }) {
  const dataDir = join(scratch, 'large-tree');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, 10);
  const adminToken = await addAdmin(databaseUrl);
  const small = await startService(databaseUrl, dataDir);
  await load(generator, target(small, people.small.token, ownQuestion(scratch)), 16, 1);
  await small.stop();
  const rows = growTree(join(dataDir, 'legate.db'));
  const service = await startService(databaseUrl, dataDir);
  try {
    const times = [];
    const answers = [];
    await proof(service, adminToken, 1);
    // Signs the rows that no checkpoint covered.
    await sleep(2000);
    for (let i = 0; i < (quick ? 300 : 2000); i++) {
      const startedAt = performance.now();
      answers.push(await proof(service, adminToken, 1 + Math.floor(Math.random() * rows)));
      times.push(performance.now() - startedAt);
    }
    const bytes = Math.max(...answers.map(({ length }) => length));
    const covers = /\n(\d+)\n[^\n]+\n\n— /.exec(answers.at(-1))?.[1];
    if (Number(covers) < SIZE) throw new Error(`the checkpoint covers ${covers} rows`);
    report(`GET /ledger/proof in a tree of ${thousands(SIZE)} rows`, {
      measured: `p50 ${ms(median(times))}, p99 ${ms(quantile(times, 0.99))}, at most ${thousands(bytes)} bytes`,
      bar: 'p50 <= 8 ms',
      ok: median(times) <= 8,
    });
  } finally {
    await service.stop();
  }
}

async function proof(service, token, seq) {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${service.url}/ledger/proof?seq=${seq}`, { headers });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`the proof of ${seq} was answered with ${answer.status}: ${text}`);
  return text;
}

/** Adds tiles up to SIZE rows. Returns the number of rows that were sealed before. */
function growTree(path) {
  const db = new Database(path);
  db.exec('pragma synchronous = off');
  const { size } = db.prepare('select size from legate_seal').get();
  for (let level = 0, count = SIZE; count > 0; level++, count = Math.floor(count / TILE)) {
    const salts = (hashes) => (level === 0 ? hashes * SALT : undefined);
    const { next } = db.prepare('select count(*) as next from legate_seal_tiles where level = ?').get(level);
    const open = db.prepare('select * from legate_seal_tiles where level = ? and tile = ?').get(level, next - 1);
    const full = (bytes, length) => Buffer.concat([Buffer.from(bytes), randomBytes(length)]).subarray(0, length);
    if (open)
      db.prepare('update legate_seal_tiles set hashes = ?, salts = ? where level = ? and tile = ?').run(
        full(open.hashes, TILE * HASH),
        level === 0 ? full(open.salts, TILE * SALT) : null,
        level,
        next - 1,
      );
    const insert = db.prepare(
      `with recursive tiles (tile) as (select ? union all select tile + 1 from tiles where tile + 1 < ?)
       insert into legate_seal_tiles (level, tile, hashes, salts)
       select ?, tile, randomblob(?), case when ? is null then null else randomblob(?) end from tiles`,
    );
    const add = (from, before, hashes) => {
      if (from >= before) return;
      const bytes = salts(hashes) ?? null;
      insert.run(from, before, level, hashes * HASH, bytes, bytes);
    };
    const whole = Math.floor(count / TILE);
    add(next, whole, TILE);
    if (count % TILE > 0) add(Math.max(next, whole), whole + 1, count % TILE);
  }
  db.exec(`update legate_seal set size = ${SIZE}; update legate_head set seq = ${SIZE}`);
  db.exec(`update legate_projections set upto = ${SIZE}`);
  db.close();
  return size;
}
