// The sealed ledger: its cost for decisions, its lag, and the cost of proofs, exports, checks and witnesses.
import { createWriteStream, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { sql } from 'kysely';
import { openDatabase } from '../../dist/storage/index.js';
import { addAdmin, fillPeople } from '../support/data.mjs';
import { load } from '../support/load.mjs';
import { median, ms, quantile, ratio, sleep, thousands } from '../support/numbers.mjs';
import { growingLog, runProgram, startWitness, watchMemory } from '../support/seal-tools.mjs';
import { cpuMs, startService } from '../support/service.mjs';
import { ownQuestion, target } from './authorize.mjs';
import { measureLargeTree } from './large-tree.mjs';

const CONNECTIONS = 64;
const LOGS = 16;
const PATIENCE_MS = 30 * 60_000;
/** How much more memory an export of ten times as many rows may take, in MB. */
const FLAT_MB = 32;
const agent = new Agent({ keepAlive: true });

export async function measureSeal(context) {
  await measureDecisions(context);
  await measureHistory(context);
  await measureLargeTree(context);
  await measureWitness(context);
}

/** A database with an agent and an administrator. */
async function fillScene(scratch, name) {
  const dataDir = join(scratch, name);
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, 10);
  return { dataDir, databaseUrl, people, adminToken: await addAdmin(databaseUrl) };
}

const startScene = ({ databaseUrl, dataDir }, env) => startService(databaseUrl, dataDir, { env });

const UNSEALED = { LEGATE_LEDGER_SEAL: 'off' };

async function measureDecisions({ scratch, generator, rounds, seconds, report, quick }) {
  const [sealedScene, plainScene] = [await fillScene(scratch, 'sealed'), await fillScene(scratch, 'unsealed')];
  const own = ownQuestion(scratch);
  const sealed = await startScene(sealedScene);
  const plain = await startScene(plainScene, UNSEALED);
  const decide = async (service, { people, adminToken }) => {
    const before = cpuMs(service.pid);
    const run = await load(generator, target(service, people.small.token, own), CONNECTIONS, seconds);
    // Postponed work is completed before the other case is measured, and its processor time counts.
    if (service === sealed) await allSealed(service, adminToken);
    return { ...run, micros: ((cpuMs(service.pid) - before) * 1000) / run.requests };
  };
  try {
    const runs = [];
    for (let round = 0; round <= rounds; round++) {
      const run = { plain: await decide(plain, plainScene), sealed: await decide(sealed, sealedScene) };
      // The first round is the warm-up.
      if (round > 0) runs.push(run);
    }
    const middle = (which, key) => median(runs.map((run) => run[which][key]));
    const share = median(runs.map((run) => run.sealed.rps / run.plain.rps));
    const later = median(runs.map((run) => run.sealed.p99 - run.plain.p99));
    report(`decisions with the ledger sealed, ${CONNECTIONS} connections`, {
      measured:
        `${ratio(share)} of unsealed (${thousands(middle('sealed', 'rps'))}/s of ` +
        `${thousands(middle('plain', 'rps'))}/s), p99 ${ms(later)} more; ` +
        `processor time each ${Math.round(middle('sealed', 'micros'))} us against ` +
        `${Math.round(middle('plain', 'micros'))} us`,
      bar: '>= 0.90 of unsealed, p99 + 1 ms',
      ok: share >= 0.9 && later <= 1,
    });
    await measureLag({ service: sealed, scene: sealedScene, generator, own, report, quick });
  } finally {
    await sealed.stop();
    await plain.stop();
  }
  await measureStarts(sealedScene, plainScene, { report, quick });
}

async function measureLag({ service, scene, generator, own, report, quick }) {
  const lags = [];
  let loaded = true;
  const sampling = (async () => {
    while (loaded) {
      const { text } = await read(`${service.url}/metrics`, scene.adminToken);
      lags.push(Number(/^legate_seal_lag_seconds (\S+)$/m.exec(text)[1]) * 1000);
      await sleep(50);
    }
  })();
  const decisions = target(service, scene.people.small.token, own);
  const { rps } = await load(generator, decisions, CONNECTIONS, quick ? 5 : 20).finally(() => (loaded = false));
  await sampling;
  report('age of the oldest row without a checkpoint, under full load', {
    measured:
      `p50 ${ms(median(lags))}, p99 ${ms(quantile(lags, 0.99))} (${thousands(lags.length)} samples, ` +
      `${thousands(rps)} decisions/s)`,
    bar: 'p99 <= 1,500 ms',
    ok: quantile(lags, 0.99) <= 1500,
  });
}

async function measureStarts(sealedScene, plainScene, { report, quick }) {
  const times = { sealed: [], plain: [] };
  for (let i = 0; i < (quick ? 3 : 9); i++) {
    const plain = await startScene(plainScene, UNSEALED);
    await plain.stop();
    const sealed = await startScene(sealedScene);
    await sealed.stop();
    times.plain.push(plain.readyAfterMs);
    times.sealed.push(sealed.readyAfterMs);
  }
  const more = median(times.sealed.map((time, i) => time - times.plain[i]));
  report('start to ready with the ledger sealed', {
    measured: `${Math.round(more)} ms more than ${Math.round(median(times.plain))} ms`,
    bar: '+ 20 ms',
    ok: more <= 20,
  });
}

/** Proofs, exports and checks of a long history. */
async function measureHistory({ scratch, history, report, quick }) {
  const { databaseUrl, dataDir } = history;
  const adminToken = await addAdmin(databaseUrl);
  const scene = { ...history, adminToken };
  const service = await startScene(scene);
  let rows;
  let key;
  try {
    ({ size: rows } = await allSealed(service, adminToken));
    key = await ledgerKey(service);
    await measureSize(databaseUrl, rows, report);
    await measureProofs({ service, scene, scratch, rows, key, report, quick });
    await measureSealedExport({ service, scene, scratch, rows, key, report });
  } finally {
    await service.stop();
  }
  await measureWitnessedProof({ scene, scratch, key, report });

  const { took, text } = await runProgram('cli.js', ['ledger', 'check'], {
    LEGATE_DATABASE_URL: databaseUrl,
    LEGATE_DATA_DIR: dataDir,
    LEGATE_LOG_LEVEL: 'error',
  });
  const checked = Number(/^(\d+) rows are as they were sealed$/m.exec(text)?.[1]);
  if (!(checked >= rows)) throw new Error(`legate ledger check says: ${text}`);
  report(`legate ledger check, ${thousands(checked)} rows`, {
    measured: `${(took / 1000).toFixed(1)} s`,
    bar: '<= 20 s for 1 million rows',
    ok: took <= 20_000 * Math.max(1, checked / 1e6),
  });
}

/** Pages of the tables that sealing adds. The tables of remains and logs are empty here. */
async function measureSize(databaseUrl, rows, report) {
  const database = await openDatabase(databaseUrl, { serviceName: 'legate' });
  const pages = sql`select coalesce(sum(pgsize), 0) as bytes from dbstat where name like '%seal%'`;
  const { bytes } = (await pages.execute(database.read)).rows[0];
  await database.close();
  report('storage that the seal takes', {
    measured: `${(bytes / rows).toFixed(1)} bytes a row, pages of SQLite`,
    bar: '<= 52 bytes a row',
    ok: bytes / rows <= 52,
  });
}

async function measureProofs({ service, scene, scratch, rows, key, report, quick }) {
  const times = [];
  const sizes = [];
  let file;
  for (let i = 0; i < (quick ? 300 : 2000); i++) {
    const seq = 1 + Math.floor(Math.random() * rows);
    const startedAt = performance.now();
    const { text } = await read(`${service.url}/ledger/proof?seq=${seq}`, scene.adminToken);
    times.push(performance.now() - startedAt);
    sizes.push(Buffer.byteLength(text));
    file = text;
  }
  report(`GET /ledger/proof of any of ${thousands(rows)} rows`, {
    measured: `p50 ${ms(median(times))}, p99 ${ms(quantile(times, 0.99))}`,
    bar: 'p50 <= 5 ms',
    ok: median(times) <= 5,
  });
  report('a proof file', sizeFigure(Math.max(...sizes)));

  const path = join(scratch, 'row.tlog-proof');
  writeFileSync(path, file);
  const checks = [];
  for (let i = 0; i < (quick ? 5 : 15); i++) checks.push((await runProgram('verify.js', [path, '--key', key])).took);
  report('legate verify of a proof, as a process', {
    measured: `${ms(median(checks))}, at worst ${ms(Math.max(...checks))}`,
    bar: '<= 200 ms',
    ok: median(checks) <= 200,
  });
}

const sizeFigure = (bytes) => ({ measured: `at most ${thousands(bytes)} bytes`, bar: '<= 3 KB', ok: bytes <= 3072 });

async function measureSealedExport({ service, scene, scratch, rows, key, report }) {
  const exported = async (count) => {
    const path = join(scratch, `rows-${count}.ndjson`);
    const memory = watchMemory(service.pid);
    const startedAt = performance.now();
    const url = `${service.url}/audit/export?format=sealed&fromSeq=1&toSeq=${count}`;
    await pipeline(await open(url, scene.adminToken), createWriteStream(path));
    const took = performance.now() - startedAt;
    const resident = memory.end();
    const check = await runProgram('verify.js', [path, '--key', key]);
    return { path, took, resident, check };
  };
  const tenth = await exported(Math.floor(rows / 10));
  const all = await exported(rows);
  const figure = (took, resident, before) => ({
    measured:
      `${thousands((rows * 1000) / took)} rows/s, resident at most ${Math.round(resident)} MB (a tenth of the rows: ` +
      `${Math.round(before)} MB)`,
    bar: `>= 100,000 rows/s, at most ${FLAT_MB} MB more than for a tenth`,
    ok: (rows * 1000) / took >= 100_000 && resident <= before + FLAT_MB,
  });
  const size = `${Math.round(statSync(all.path).size / 1e6)} MB`;
  report(`sealed export of ${thousands(rows)} rows (${size})`, figure(all.took, all.resident, tenth.resident));
  report(
    `check of a sealed export of ${thousands(rows)} rows`,
    figure(all.check.took, all.check.resident, tenth.check.resident),
  );
}

/** The largest proof: with a cosignature, and with the checkpoint before the entry and its consistency proof. */
async function measureWitnessedProof({ scene, scratch, key, report }) {
  const witness = await startWitness(join(scratch, 'witness-of-history'), [key]);
  const policy = join(scratch, 'policy');
  writeFileSync(policy, `log ${key}\nwitness w1 ${witness.vkey} ${witness.url}\nquorum w1\n`);
  const service = await startScene(scene, { LEGATE_LEDGER_POLICY: policy });
  try {
    const own = readFileSync(ownQuestion(scratch), 'utf8');
    const prove = async () => {
      const response = await fetch(`${service.url}/authorize`, {
        method: 'POST',
        headers: { authorization: `Bearer ${scene.people.small.token}`, 'content-type': 'application/json' },
        body: own,
      });
      const { auditId } = await response.json();
      return (await read(`${service.url}/audit/${auditId}/proof`, scene.adminToken)).text;
    };
    // The first proof makes sure that there is a cosigned checkpoint before the others.
    await prove();
    const proofs = [];
    for (let i = 0; i < 20; i++) proofs.push(await prove());
    const path = join(scratch, 'cosigned.tlog-proof');
    writeFileSync(path, proofs.at(-1));
    const { text } = await runProgram('verify.js', [path, '--policy', policy]);
    if (!text.includes('w1')) throw new Error(`legate verify says: ${text}`);
    const largest = Math.max(...proofs.map((proof) => Buffer.byteLength(proof)));
    report('a proof file with a cosignature and the checkpoint before', sizeFigure(largest));
  } finally {
    await service.stop();
    await witness.stop();
  }
}

/** Checkpoints of several logs, each sent after the response to the previous one. */
async function measureWitness({ scratch, report, quick }) {
  const logs = Array.from({ length: LOGS }, (_, i) => growingLog(`log.example/${i}`));
  const witness = await startWitness(
    join(scratch, 'witness'),
    logs.map(({ vkey }) => vkey),
  );
  try {
    const each = quick ? 25 : 200;
    const requests = logs.map(({ grow }) => Array.from({ length: each }, () => grow(100)));
    const times = [];
    const startedAt = performance.now();
    await Promise.all(
      requests.map(async (bodies) => {
        for (const body of bodies) {
          const sentAt = performance.now();
          const response = await fetch(`${witness.url}/add-checkpoint`, { method: 'POST', body });
          const text = await response.text();
          if (response.status !== 200) throw new Error(`the witness answered ${response.status}: ${text}`);
          times.push(performance.now() - sentAt);
        }
      }),
    );
    const perSecond = (times.length * 1000) / (performance.now() - startedAt);
    report(`checkpoints that a witness cosigns, ${LOGS} logs`, {
      measured: `${thousands(perSecond)}/s, p50 ${ms(median(times))}`,
      bar: '>= 200/s',
      ok: perSecond >= 200,
    });
  } finally {
    await witness.stop();
  }
}

/** Waits until a checkpoint covers every row, and returns the state of sealing. */
async function allSealed(service, token) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const status = JSON.parse((await read(`${service.url}/ledger/status`, token)).text);
    if (status.halted !== null) throw new Error(`sealing has stopped: ${status.halted}`);
    if (status.lagRows === 0 && status.signedSize > 0) return status;
    if (performance.now() > deadline) throw new Error(`${status.lagRows} rows are not sealed`);
    await sleep(status.lagRows > 100_000 ? 1000 : 50);
  }
}

async function ledgerKey(service) {
  const { keys } = JSON.parse((await read(`${service.url}/ledger/keys`)).text);
  return keys[0];
}

/** Any response other than 200 is an error. */
const open = (url, token) =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    get(url, { agent, headers }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`${url} answered ${response.statusCode}`));
    }).once('error', reject);
  });

async function read(url, token) {
  let text = '';
  for await (const part of (await open(url, token)).setEncoding('utf8')) text += part;
  return { text };
}
