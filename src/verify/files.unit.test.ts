import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { cpuTimer } from '../../test/support/cpu.ts';
import { keyOf, path, root } from '../../test/support/plain-log.ts';
import { sha256 } from './canonical.ts';
import { parseKey, policyOfKeys, runVerify, runVerifyOnline, verifyExport } from './index.ts';
import { leafHash } from './tree.ts';

const ORIGIN = 'log.example/ledger/1';
const log = keyOf(ORIGIN, 1);
const key = [log.vkey];

const noteOf = (leaves: readonly string[]): string => {
  const text = `${ORIGIN}\n${leaves.length}\n${root(leaves.map(leafHash)).toString('base64')}\n`;
  return `${text}\n${log.signs(text)}`;
};
const digest = sha256('private').toString('base64');
const decision = (seq: number): string =>
  `legate-entry-v1\0audit\0${seq}\0${seq}\0${digest}\0aud_${seq}\0agt_1\0usr_1\0read\0db:x\0allowed\0\x000.5\0\0`;
const erasure = (seq: number, seqs: string): string =>
  `legate-entry-v1\0audit.erased\0${seq}\0${seq}\0${digest}\0private\0${seqs}`;
const exportOf = (leaves: readonly string[]): string =>
  [
    { format: 'legate-export-v1', origin: ORIGIN, from: 1, to: leaves.length, complete: true },
    ...leaves.map((leaf) => ({ leaf })),
    { left: [], right: [], checkpoint: noteOf(leaves) },
  ]
    .map((value) => `${JSON.stringify(value)}\n`)
    .join('');

const LEAVES = [1, 2, 3].map(decision);
const PROOF = `c2sp.org/tlog-proof@v1\nextra ${Buffer.from(JSON.stringify({ leaf: LEAVES[1] })).toString('base64')}
index 1\n${path(1, LEAVES.map(leafHash))
  .map((hash) => `${hash.toString('base64')}\n`)
  .join('')}\n${noteOf(LEAVES)}`;
const ANSWER = JSON.stringify({ from: 3, to: 3, proof: [], checkpoint: noteOf(LEAVES) });

function folder() {
  const dir = mkdtempSync(join(tmpdir(), 'legate-verify-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return (name: string, content?: string | Uint8Array): string => {
    if (content !== undefined) writeFileSync(join(dir, name), content);
    return join(dir, name);
  };
}

/** The exit code and the printed text. */
function run(options: Parameters<typeof runVerify>[0]): [number, string] {
  let printed = '';
  const code = runVerify(options, (text) => {
    printed += text;
  });
  return [code, printed];
}

it('a pipe is read like a file, and refused by --follow-keys, which reads twice', () => {
  const file = folder();
  const pipe = file('pipe');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  for (const [name, text] of Object.entries({ proof: PROOF, checkpoint: noteOf(LEAVES), export: exportOf(LEAVES) })) {
    const content = file(name, text);
    // The first bytes arrive alone.
    const writer = spawn('sh', ['-c', '{ head -c 5 "$0"; sleep 0.1; tail -c +6 "$0"; } > "$1"', content, pipe]);
    onTestFinished(() => void writer.kill());
    expect(run({ files: [pipe], key })).toEqual([0, run({ files: [content], key })[1].replaceAll(content, pipe)]);
  }
  expect(run({ files: [pipe], key, followKeys: true })).toEqual([2, expect.stringContaining('read twice')]);
});

it('a file without an end is larger than a proof, and a folder cannot be read', () => {
  expect(run({ files: ['/dev/zero'], key })).toEqual([2, expect.stringContaining('is larger than 16777216 bytes')]);
  expect(run({ files: [tmpdir()], key })).toEqual([2, expect.stringContaining('cannot be read (EISDIR)')]);
});

it('wrong use is undecidable: a policy that is not a text, and the files of --consistent in the wrong order', () => {
  const file = folder();
  const old = file('old', noteOf(LEAVES));
  const answer = file('answer', ANSWER);
  const policy = file('policy', Uint8Array.of(0xff, 0xfe, 0x00));
  expect(run({ files: [old], policy })).toEqual([2, `${policy} is not a policy: The file is not UTF-8.\n`]);
  expect(run({ files: [old, answer], key, consistent: true })[0]).toBe(0);
  for (const first of [answer, file('proof', PROOF)])
    expect(run({ files: [first, old], key, consistent: true })).toEqual([
      2,
      `${first}: undecidable\n  The first file is not a checkpoint. The older checkpoint comes first, then the ` +
        'answer.\n',
    ]);
});

it('--json prints JSON also for a wrong command line', () => {
  const [code, printed] = run({ files: ['x'], key: ['nonsense'], json: true });
  expect([code, JSON.parse(printed)]).toEqual([
    2,
    [{ verdict: 'undecidable', reason: expect.stringContaining('is not a verifier key') }],
  ]);
});

it('an endless answer of the service at --url is not read to its end', async () => {
  const file = folder();
  const server = createServer((_, res) => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const more = (): void => {
      while (res.write(chunk));
    };
    res.on('drain', more);
    more();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let printed = '';
  const code = await runVerifyOnline({ files: [file('old', noteOf(LEAVES))], key, url }, (text) => {
    printed += text;
  });
  expect([code, printed]).toEqual([2, expect.stringContaining('is larger than 16777216 bytes')]);
});

it('the erasures of an export explain the private fields that are gone, whatever their order and number', () => {
  const policy = policyOfKeys([parseKey(log.vkey)]);
  const unrecorded = (leaves: readonly string[]) =>
    verifyExport(exportOf(leaves).slice(0, -1).split('\n'), policy).unrecorded;
  const rows = Array.from({ length: 9 }, (_, i) => decision(i + 1));
  for (const [seqs, left] of [
    ['1-9', []],
    ['2', ['1', '3-9']],
    ['4-6,2,5-7', ['1', '3', '8-9']],
    ['1-3,3-4,9-20', ['5-8']],
    ['6-2', ['1-9']],
    ['12-14', ['1-9']],
  ] as const)
    expect(unrecorded([...rows, erasure(10, seqs)]), seqs).toEqual(left);

  const many = 20_000;
  const odd = (from: number): string => Array.from({ length: 100 }, (_, i) => from + 2 * i).join(',');
  const mixed = Array.from({ length: many }, (_, i) =>
    i % 2 === 0 ? decision(i + 1) : `legate-entry-v1\0agent.created\0${i + 1}\0${i + 1}\0${digest}`,
  );
  const erasures = Array.from({ length: many / 200 }, (_, i) => erasure(many + i + 1, odd(1 + 200 * i)));
  const text = [...mixed, ...erasures];
  const cpuMs = cpuTimer();
  expect(unrecorded(text)).toEqual([]);
  expect(cpuMs()).toBeLessThan(5000);
});
