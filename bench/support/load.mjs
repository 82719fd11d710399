// Runs the load generator and checks that every request got its response.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pinned } from './machine.mjs';
import { median } from './numbers.mjs';

const here = import.meta.dirname;

/**
 * @typedef {{ url: string, token: string, bodies?: string, keyed?: boolean }} Target `bodies` is a file with one JSON
 * body a line, sent in turn; without it GET is sent. `keyed` gives each request an Idempotency-Key of its own.
 * @typedef {{ requests: number, rps: number, p50: number, p99: number, bytesEach: number }} Load latencies in ms
 */

/** Sends requests as fast as `connections` permit. Any response other than 200 is an error. @returns {Promise<Load>} */
export async function load(generator, target, connections, seconds) {
  const { url, token, bodies = '-', keyed } = target;
  const keys = keyed ? [randomUUID()] : [];
  const command =
    generator === 'wrk'
      ? [
          'wrk',
          '-t1',
          `-c${connections}`,
          `-d${seconds}s`,
          '-s',
          join(here, 'load.lua'),
          url,
          '--',
          bodies,
          token,
          ...keys,
        ]
      : [process.execPath, join(here, 'autocannon.mjs'), url, `${connections}`, `${seconds}`, bodies, token, ...keys];
  const output = await run(pinned(1, command));
  const line = output.trim().split('\n').at(-1) ?? '';
  const { requests, bytes, micros, bad, broken, p50, p99 } = JSON.parse(line);
  if (bad > 0 || broken > 0) throw new Error(`${url}: ${bad} answers were not 200, ${broken} requests broke.`);
  return { requests, rps: requests / (micros / 1e6), p50, p99, bytesEach: bytes / requests };
}

/**
 * Loads two targets in turn, A B A B ..., so that both run under the same conditions. A first pass warms up and is
 * discarded.
 * @returns ratios from within a round: the median of b's rate over a's
 */
export async function compare(generator, a, b, { connections, rounds, seconds }) {
  await load(generator, a, connections, 1);
  await load(generator, b, connections, seconds);
  const as = [];
  const bs = [];
  for (let i = 0; i < rounds; i++) {
    as.push(await load(generator, a, connections, seconds));
    bs.push(await load(generator, b, connections, seconds));
  }
  return { ratio: median(bs.map((run, i) => run.rps / as[i].rps)), a: middle(as), b: middle(bs) };
}

const middle = (runs) => ({
  rps: median(runs.map((r) => r.rps)),
  p50: median(runs.map((r) => r.p50)),
  p99: median(runs.map((r) => r.p99)),
});

/** Returns the output of a program for an input. */
export function run([program, ...args], input = '') {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (chunk) => (text += chunk));
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve(text) : reject(new Error(`${program} ended with ${code}: ${text}`)),
    );
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
