import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { consistency, keyOf, root } from '../../test/support/plain-log.ts';
import { openCheckpoint, parseKey, Undecidable } from '../verify/index.ts';
import { openWitness, serveWitness } from './index.ts';

const ORIGIN = 'log.example/ledger/1';
const log = keyOf(ORIGIN, 1);
const NAME = 'witness.example/w1';
const T0 = 1_763_815_642_123;

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
const leaves = (count: number, of = 'row'): Buffer[] => Array.from({ length: count }, (_, i) => sha256(`${of} ${i}`));
const rootOf = (list: readonly Buffer[]): Buffer => (list.length === 0 ? sha256('') : root(list));
const textOf = (list: readonly Buffer[], origin = ORIGIN): string =>
  `${origin}\n${list.length}\n${rootOf(list).toString('base64')}\n`;
const noteOf = (list: readonly Buffer[], key = log): string => `${textOf(list)}\n${key.signs(textOf(list))}`;
const requestOf = (from: number, list: readonly Buffer[], note = noteOf(list)): string => {
  const proof = from === 0 || from >= list.length ? [] : consistency(from, list);
  return `old ${from}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;
};

function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'legate-witness-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function open(folder = scratchFolder()) {
  const witness = openWitness({ name: NAME, logs: [log.vkey], folder, now: () => T0 });
  onTestFinished(() => witness.close());
  return witness;
}

/** Opens a cosigned note under a policy that requires the witness. */
const opened = (note: string, vkey: string) =>
  openCheckpoint(note, {
    logs: [parseKey(log.vkey)],
    witnesses: new Map([['w1', parseKey(vkey)]]),
    addresses: new Map(),
    isQuorum: (cosigned) => cosigned.has('w1'),
  });

describe('a witness [C2SP tlog-witness]', () => {
  it('cosigns a checkpoint that continues the one before, for every pair of sizes up to 6', () => {
    for (let from = 0; from <= 6; from++)
      for (let to = from; to <= 6; to++) {
        const witness = open();
        if (from > 0) expect(witness.addCheckpoint(requestOf(0, leaves(from))).status).toBe(200);
        const { status, body } = witness.addCheckpoint(requestOf(from, leaves(to)));
        expect([from, to, status]).toEqual([from, to, 200]);
        const { size, cosigned } = opened(noteOf(leaves(to)) + body, witness.vkey);
        expect([size, cosigned]).toEqual([to, [{ name: 'w1', time: Math.floor(T0 / 1000) }]]);
      }
  });

  it('responds with its size if the old size differs, even if it is 0', () => {
    const witness = open();
    witness.addCheckpoint(requestOf(0, leaves(4)));
    for (const from of [0, 3, 5])
      expect(witness.addCheckpoint(requestOf(from, leaves(6)))).toEqual({
        status: 409,
        type: 'text/x.tlog.size',
        body: '4\n',
      });
  });

  it('refuses another history, and keeps both notes of a fork', () => {
    const witness = open();
    witness.addCheckpoint(requestOf(0, leaves(4)));
    const rewritten = [...leaves(2), ...leaves(5, 'other')];
    expect(witness.addCheckpoint(requestOf(4, rewritten)).status).toBe(422);
    expect(witness.addCheckpoint(`old 4\n\n${noteOf(leaves(6))}`).status).toBe(422);
    const forked = [...leaves(2), ...leaves(2, 'other')];
    expect(witness.addCheckpoint(requestOf(4, forked)).status).toBe(409);
    const [fork, ...others] = witness.forks();
    expect([fork?.origin, fork?.other, others]).toEqual([ORIGIN, noteOf(forked), []]);
    expect(opened(fork?.known ?? '', witness.vkey).size).toBe(4);
    expect(witness.addCheckpoint(requestOf(4, leaves(6))).status).toBe(200);
  });

  it('keeps both notes of a fork, regardless of the old size', () => {
    const witness = open();
    witness.addCheckpoint(requestOf(0, leaves(4)));
    const forked = [...leaves(2), ...leaves(2, 'other')];
    for (const from of [0, 2])
      expect(witness.addCheckpoint(requestOf(from, forked))).toMatchObject({ status: 409, body: '4\n' });
    expect(witness.forks().map(({ other }) => other)).toEqual([noteOf(forked)]);
  });

  it('cosigns extension lines with the checkpoint [C2SP tlog-checkpoint]', () => {
    const witness = open();
    const text = `${textOf(leaves(2))}anything\n`;
    const note = `${text}\n${log.signs(text)}`;
    const { status, body } = witness.addCheckpoint(requestOf(0, leaves(2), note));
    expect(status).toBe(200);
    expect(opened(note + body, witness.vkey).size).toBe(2);
    expect(() => opened(noteOf(leaves(2)) + body, witness.vkey)).toThrow('The cosignature of w1 is wrong');
    const empty = `${textOf(leaves(3))}\nanything\n`;
    expect(witness.addCheckpoint(requestOf(2, leaves(3), `${empty}\n${log.signs(empty)}`)).status).toBe(400);
  });

  it('shows only signatures that it has verified', () => {
    const witness = open();
    const stray = log.signs('x').replace(ORIGIN, 'other.example');
    const note = noteOf(leaves(2));
    expect(witness.addCheckpoint(requestOf(0, leaves(2), note + stray)).status).toBe(200);
    expect(witness.latest(sha256(ORIGIN).toString('hex'))?.startsWith(note)).toBe(true);
    expect(witness.latest(sha256(ORIGIN).toString('hex'))).not.toContain('other.example');
  });

  it('refuses unknown logs, other keys and malformed requests', () => {
    const witness = open();
    const other = keyOf('other.example', 2);
    const text = textOf(leaves(2), 'other.example');
    const wrongRoot = `${ORIGIN}\n0\n${sha256('x').toString('base64')}\n`;
    const good = requestOf(0, leaves(2));
    for (const [status, request] of [
      [404, `old 0\n\n${text}\n${other.signs(text)}`],
      [403, requestOf(0, leaves(2), noteOf(leaves(2), keyOf(ORIGIN, 9)))],
      [403, good.replace(/\n2\n/, '\n3\n')],
      [422, `old 0\n\n${wrongRoot}\n${log.signs(wrongRoot)}`],
      [400, requestOf(3, leaves(2))],
      [400, good.slice('old 0\n'.length)],
      [400, good.replace('old 0', 'old 00')],
      [400, good.replace('old 0\n', 'old 0\nnot a hash\n')],
      [400, good.replace('old 0\n', `old 0\n${`${sha256('x').toString('base64')}\n`.repeat(64)}`)],
      [400, good.slice(0, -1)],
      [400, good.replace(/\n2\n/, '\n02\n')],
      [400, 'old 0\n\n'],
      [400, ''],
    ] as const)
      expect([witness.addCheckpoint(request).status, request]).toEqual([status, request]);
    expect(witness.latest(sha256(ORIGIN).toString('hex'))).toBeUndefined();
  });

  it('remembers its state after a restart, and two processes with one folder never cosign two histories', () => {
    const folder = scratchFolder();
    const [first, second] = [open(folder), open(folder)];
    expect(second.vkey).toBe(first.vkey);
    expect(statSync(join(folder, 'witness-key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('*\n');
    first.addCheckpoint(requestOf(0, leaves(4)));
    const forked = [...leaves(3), ...leaves(1, 'other')];
    expect(second.addCheckpoint(requestOf(4, forked)).status).toBe(409);
    expect(second.addCheckpoint(requestOf(0, forked)).status).toBe(409);
    expect(second.addCheckpoint(requestOf(4, leaves(5))).status).toBe(200);
    expect(first.addCheckpoint(requestOf(4, leaves(6)))).toMatchObject({ status: 409, body: '5\n' });
  });

  it('requires a name and keys of logs', () => {
    const folder = scratchFolder();
    for (const options of [
      { name: 'a b', logs: [log.vkey] },
      { name: NAME, logs: ['nonsense'] },
      { name: NAME, logs: [keyOf(NAME, 3, 4).vkey] },
    ])
      expect(() => openWitness({ ...options, folder })).toThrow(Undecidable);
  });
});

it('a witness can be asked over HTTP, and shows the newest note that it has cosigned', async () => {
  const witness = open();
  const server = serveWitness(witness).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = async (path: string, body?: string) => {
    const response = await fetch(url + path, body === undefined ? {} : { method: 'POST', body });
    return [response.status, response.headers.get('content-type'), await response.text()] as const;
  };
  const latest = `/${sha256(ORIGIN).toString('hex')}/checkpoint`;
  expect((await ask(latest))[0]).toBe(404);
  const [status, type, line] = await ask('/add-checkpoint', requestOf(0, leaves(3)));
  expect([status, type]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(await ask(latest)).toEqual([200, 'text/plain; charset=utf-8', noteOf(leaves(3)) + line]);
  expect(await ask('/add-checkpoint', requestOf(0, leaves(4)))).toEqual([409, 'text/x.tlog.size', '3\n']);
  expect((await ask('/add-checkpoint', 'x'.repeat(65_537)))[0]).toBe(413);
  expect((await ask('/add-checkpoint'))[0]).toBe(405);
  expect((await ask(latest, 'x'))[0]).toBe(405);
  expect((await ask('/'))[0]).toBe(404);
});

it('a witness that cannot store a checkpoint answers 503 and reports the cause', async () => {
  const witness = open();
  const full = new Error('database or disk is full');
  const failing = {
    ...witness,
    addCheckpoint: () => {
      throw full;
    },
  };
  const failures: unknown[] = [];
  const server = serveWitness(failing, (error) => failures.push(error)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/add-checkpoint`;
  const response = await fetch(url, { method: 'POST', body: requestOf(0, leaves(1)) });
  expect([response.status, await response.text()]).toEqual([503, 'This witness cannot store the checkpoint.\n']);
  expect(failures).toEqual([full]);
});
