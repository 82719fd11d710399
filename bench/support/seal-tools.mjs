// Shared by the figures of the sealed ledger: running programs to their end, a witness, and a log for it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { leafHash } from '../../dist/activity/seal/entry-text.js';
import { noteSigner, signCheckpoint } from '../../dist/activity/seal/note.js';
import { consistencyRanges, rangeHash, TreeEdge, tileKey } from '../../dist/activity/seal/tree.js';
import { pinned } from './machine.mjs';
import { residentMb } from './service.mjs';

const dist = resolve(import.meta.dirname, '../../dist');
const SAMPLE_MS = 20;

/**
 * Records the largest resident memory of a process from now on. `end` returns it in MB; NaN where there is no /proc.
 */
export function watchMemory(pid) {
  let peak = Number.NaN;
  const sample = () => {
    const resident = residentMb(pid) ?? Number.NaN;
    // A process that has ended has no such file.
    if (!Number.isNaN(resident) && !(resident <= peak)) peak = resident;
  };
  const sampler = setInterval(sample, SAMPLE_MS);
  return {
    end: () => {
      sample();
      clearInterval(sampler);
      return peak;
    },
  };
}

/**
 * Runs a program of dist/ to its end. Any exit code other than 0 is an error.
 * @returns {Promise<{ text: string, took: number, resident: number }>} took in ms; resident at most, in MB
 */
export async function runProgram(file, args, env = {}) {
  const [program, ...rest] = pinned(1, [process.execPath, join(dist, file), ...args]);
  const startedAt = performance.now();
  const child = spawn(program, rest, { env: { ...minimal(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const memory = watchMemory(child.pid);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part));
  const code = await new Promise((done, fail) => child.once('error', fail).once('close', done));
  const took = performance.now() - startedAt;
  const resident = memory.end();
  if (code !== 0) throw new Error(`${file} ${args[0]} ended with ${code}: ${text}`);
  return { text, took, resident };
}

const minimal = () => ({ PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' });

/** Starts `legate witness` for these logs. */
export async function startWitness(folder, logs) {
  const args = ['witness', '--name', 'witness.example/bench', '--data', folder, '--port', '0'];
  const command = [process.execPath, join(dist, 'cli.js'), ...args, ...logs.flatMap((vkey) => ['--log', vkey])];
  const [program, ...rest] = pinned(0, command);
  const child = spawn(program, rest, { env: minimal(), stdio: ['ignore', 'pipe', 'inherit'] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = new Promise((done) => child.once('exit', done));
  let said = '';
  const listening = new Promise((done) =>
    child.stdout.setEncoding('utf8').on('data', (part) => {
      said += part;
      if (/^Address .+\n/m.test(said)) done();
    }),
  );
  await Promise.race([
    listening,
    ended.then(() => {
      throw new Error(`legate witness ended: ${said}`);
    }),
  ]);
  return {
    url: /^Address +(\S+)$/m.exec(said)[1],
    vkey: /^Witness +(\S+)$/m.exec(said)[1],
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      process.off('exit', kill);
    },
  };
}

/** A log that grows, with the requests that add each of its checkpoints to a witness (C2SP tlog-witness). */
export function growingLog(origin) {
  const signer = noteSigner(origin, createHash('sha256').update(origin).digest());
  const edge = TreeEdge.from(0, new Map());
  const tiles = new Map();
  const salt = Buffer.alloc(16);
  /** Returns the request for the tree after adding the given number of rows. */
  const grow = (rows) => {
    const old = edge.size;
    for (let i = 0; i < rows; i++) edge.add(leafHash(`${origin} ${edge.size}`), salt, 0);
    for (const tile of edge.unstored()) tiles.set(tileKey(tile), tile.hashes);
    edge.stored(edge.size);
    const { size } = edge;
    const proof = old === 0 ? [] : consistencyRanges(old, size).map((r) => rangeHash(tiles, r).toString('base64'));
    const note = signCheckpoint({ origin, size, root: edge.root() }, [signer]);
    return `old ${old}\n${proof.map((hash) => `${hash}\n`).join('')}\n${note}`;
  };
  return { vkey: signer.vkey, grow };
}
