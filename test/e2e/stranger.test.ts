import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createLegate, type Legate } from '../../src/service.ts';
import { openWitness, serveWitness } from '../../src/witness/index.ts';
import { root, run, scratchFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const ignore = (): void => {};
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const permissions = [{ resource: 'bank:*', actions: ['read'] }];
/** The times at which the witness saw the first and the second checkpoint, by its own clock. */
const [EARLIEST, LATEST] = ['2030-05-06T07:08:09.000Z', '2030-05-06T08:09:10.000Z'];

/** Makes every function throw that opens a connection or resolves a name. */
const OFFLINE = `--import=data:text/javascript,${encodeURIComponent(`
  import net from 'node:net'; import dgram from 'node:dgram'; import dns from 'node:dns';
  import { syncBuiltinESMExports } from 'node:module';
  const refuse = () => { throw new Error('no network'); };
  net.Socket.prototype.connect = dgram.Socket.prototype.send = globalThis.fetch = refuse;
  for (const name of Object.keys(dns)) if (typeof dns[name] === 'function') dns[name] = refuse;
  syncBuiltinESMExports();`)}`;

/** A separate network namespace has no network at all, but not every system lets a test create one. */
const ISOLATED = spawnSync('unshare', ['-rn', 'true']).status === 0 ? ['unshare', '-rn'] : [];

/** Runs the verifier in a folder that contains only it and these files. */
async function askVerifier(files: Record<string, string>, keys: readonly string[]) {
  const cwd = scratchFolder();
  copyFileSync(join(root, 'dist/verify.js'), join(cwd, 'verify.js'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const args = [OFFLINE, 'verify.js', ...Object.keys(files), ...keys.flatMap((key) => ['--key', key])];
  const [program = '', ...others] = [...ISOLATED, process.execPath, ...args];
  const { code, stdout, stderr } = await run([program, ...others], { cwd });
  expect(readdirSync(cwd).sort()).toEqual([...Object.keys(files), 'verify.js'].sort());
  return { code, lines: stdout.split('\n').slice(0, -1), stderr };
}

async function start(dataDir: string, ledger: { seal?: 'on' | 'off'; policy?: string }): Promise<Legate> {
  const legate = await createLegate({ dataDir, ledger }, { env: {}, log });
  onTestFinished(() => legate.close());
  return legate;
}

const createAgent = async (legate: Legate) => {
  const owner = await legate.users.create({ email: 'owner@example.com', password: 'correct horse battery' });
  return legate.agents.create({ ownerId: owner.id, name: 'x', type: 'autonomous', permissions });
};
const shortKey = (vkey: string): string => vkey.split('+').slice(0, 2).join('+');
const rowOf = (proof: string): number => Number(/^index (\d+)$/m.exec(proof)?.[1]) + 1;
const sizeOf = (proof: string): string => proof.slice(proof.indexOf('\n\n')).split('\n')[3] as string;

it('the verifier is one file that needs only the file system and hashes of Node', () => {
  const source = readFileSync(join(root, 'dist/verify.js'), 'utf8');
  const imported = [...source.matchAll(/^import .* from ["'](.+)["'];$/gm)].map(([, name]) => name);
  expect(imported.sort()).toEqual(['node:crypto', 'node:fs', 'node:util']);
  expect(source).not.toMatch(/\b(import|require)\s*\(|^(import|export) \S*\s*["']|getBuiltinModule/m);
});

it('an auditor without network reads the decision, its time range and its keys from a proof', async () => {
  const dataDir = join(scratchFolder(), '.legate');
  const first = await start(dataDir, {});
  const [key = ''] = (await first.ledger.keys()).keys;
  await first.close();
  let time = EARLIEST;
  const witness = openWitness({
    name: 'witness.example/w1',
    logs: [key],
    folder: scratchFolder(),
    now: () => Date.parse(time),
  });
  const server = serveWitness(witness).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    witness.close();
  });
  const policy = join(scratchFolder(), 'policy');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(policy, `witness w1 ${witness.vkey} ${address}\nquorum w1\n`);
  const legate = await start(dataDir, { policy });
  const agent = await createAgent(legate);
  const decide = async (action: string): Promise<string> => {
    const { auditId } = await legate.authorize({
      agentId: agent.id,
      action,
      resource: 'bank:1',
      arguments: { to: 'Zoë', amount: 5 },
    });
    return legate.ledger.proof(auditId as string);
  };
  const size = Number(sizeOf(await decide('read')));
  // A later proof refers to the checkpoints that are stored: one a minute, the first soon after the start.
  const before = await until(async () => {
    const { before } = await legate.ledger.checkpoints(size);
    return before?.checkpoint.includes('witness.example/w1') && before.size;
  });
  time = LATEST;
  const proof = await decide('pay');
  await legate.close();

  const files = { 'decision.tlog-proof': proof };
  const proven = await askVerifier(files, [key, witness.vkey]);
  expect([proven.code, proven.stderr]).toEqual([0, '']);
  const [origin = ''] = key.split('+');
  expect(proven.lines).toEqual([
    'decision.tlog-proof: proven',
    `  This is row ${rowOf(proof)} of ${origin}, unchanged since a tree of ${sizeOf(proof)} rows was signed.`,
    '    type: audit',
    expect.stringMatching(/^ {4}time: 20\d\d-\d\d-\d\dT[\d:.]+Z, as the ledger recorded it$/),
    expect.stringMatching(/^ {4}id: "aud_\w+"$/),
    `    agentId: "${agent.id}"`,
    `    userId: "${agent.ownerId}"`,
    '    action: "pay"',
    '    resource: "bank:1"',
    '    result: "denied"',
    '    reason: "NO_PERMISSION"',
    expect.stringMatching(/^ {4}durationMs: "[\d.e-]+"$/),
    String.raw`    parameters: "{\"to\":\"Zoë\",\"amount\":5}"`,
    `  It was not yet in a tree of ${before} rows that the witness witness.example/w1 saw at ${EARLIEST}.`,
    `  Signed by ${shortKey(key)}.`,
    `  Seen by the witness witness.example/w1 at ${LATEST}.`,
  ]);

  // With only the key of the ledger, the time is confirmed by the ledger alone.
  const alone = await askVerifier(files, [key]);
  expect([alone.code, alone.lines.slice(-4)]).toEqual([
    0,
    [
      `  It was not yet in a tree of ${before} rows, which was signed before.`,
      `  Signed by ${shortKey(key)}.`,
      '  Not proven: the time. It is the word of the ledger.',
      '  Not proven: that others were shown the same ledger. No witness has cosigned.',
    ],
  ]);

  // The proof is checked with another key, with the key of the witness only, and with a changed text.
  const stranger = openWitness({ name: 'witness.example/w2', logs: [key], folder: scratchFolder() });
  stranger.close();
  for (const [keys, said] of [
    [[key, stranger.vkey], 'Too few of the witnesses'],
    [[witness.vkey], 'None of the keys is one of a ledger.'],
    [[`${origin}+00000000+${key.split('+').slice(2).join('+')}`], 'does not belong to the key'],
  ] as const) {
    const { code, lines } = await askVerifier(files, keys);
    expect([code, lines.join('\n')]).toEqual([2, expect.stringContaining(said)]);
  }
  const [, extra = ''] = /^extra (.*)$/m.exec(proof) ?? [];
  const allowed = Buffer.from(Buffer.from(extra, 'base64').toString().replace('\\u0000denied', '\\u0000allowed'));
  const forged = await askVerifier({ 'decision.tlog-proof': proof.replace(extra, allowed.toString('base64')) }, [key]);
  expect([forged.code, forged.lines]).toEqual([
    1,
    ['decision.tlog-proof: refuted', '  The entry is not in the tree that was signed.'],
  ]);
});

it('the verifier reports rows from before sealing began as sealed later', async () => {
  const dataDir = join(scratchFolder(), '.legate');
  const unsealed = await start(dataDir, { seal: 'off' });
  const agent = await createAgent(unsealed);
  const { auditId } = await unsealed.authorize({ agentId: agent.id, action: 'read', resource: 'bank:1' });
  await unsealed.close();
  const legate = await start(dataDir, { seal: 'on' });
  const proof = await legate.ledger.proof(auditId as string);
  const [key = ''] = (await legate.ledger.keys()).keys;
  const db = legate.platform.database.read.selectFrom('stream_events').select(['seq', 'timestamp']);
  const begun = await db.where('type', '=', 'ledger.begun').executeTakeFirstOrThrow();
  const files = {
    'decision.tlog-proof': proof,
    'begun.tlog-proof': await legate.ledger.proof(begun.seq),
    'rows.ndjson': await (await legate.ledger.export({ fromSeq: 1, toSeq: begun.seq })).text(),
  };
  const after = new Date(begun.timestamp).toISOString();
  const { code, lines } = await askVerifier(files, [key]);
  expect([code, lines.filter((line) => line.includes('until'))]).toEqual([
    0,
    [
      `  Not proven: what happened to row ${rowOf(proof)} until it was sealed, after ${after}.`,
      `  Not proven: what happened to rows 1 to ${begun.seq - 1} until they were sealed, after ${after}.`,
    ],
  ]);
  const [decision] = lines.flatMap((line, i) => (line.includes('until') ? [i] : []));
  expect(decision).toBeLessThan(lines.indexOf('begun.tlog-proof: proven'));
});
