import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterThisTest } from './at-end.ts';
import { type Running, startProcess } from './process.ts';

export const root = resolve(import.meta.dirname, '../..');
/** The built program, as package.json names it. */
export const PROGRAM = join(root, 'dist/cli.js');

/** An empty folder, deleted after the test. */
export function scratchFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'legate-e2e-'));
  afterThisTest(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, with PATH, HOME and `env` as its environment. */
export function run(
  command: readonly [string, ...string[]],
  options: { cwd: string; env?: Record<string, string>; input?: string },
): Promise<Finished> {
  return new Promise((done, failed) => {
    const { PATH = '', HOME = '' } = process.env as { PATH?: string; HOME?: string };
    const child = spawn(command[0], command.slice(1), {
      cwd: options.cwd,
      env: { PATH, HOME, ...options.env },
      timeout: 60_000,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk));
    child.once('error', failed);
    child.once('close', (code) => done({ code, stdout, stderr }));
    // A program may end without reading its input.
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

/** Runs `legate ...` to its end, by default in its own folder. */
export const legate = (
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<Finished> => run([process.execPath, PROGRAM, ...args], { cwd: options.cwd ?? scratchFolder(), ...options });

/** Starts `legate serve`, which is stopped after the test if it still runs. */
export async function serve(options: {
  cwd: string;
  env?: Record<string, string>;
  command?: readonly [string, ...string[]];
}): Promise<Running> {
  const running = await startProcess(options.command ?? [process.execPath, PROGRAM, 'serve'], options);
  afterThisTest(() => running.process.exitCode === null && running.process.signalCode === null && running.stop());
  return running;
}
