import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterThisFile, afterThisTest } from './at-end.ts';
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
      timeout: 170_000,
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

let prepared: Promise<string> | undefined;

/** A folder with the data of a service that has started and stopped. One service of a test file makes it for all. */
export async function servedFolder(): Promise<string> {
  prepared ??= serveOnce();
  const dir = scratchFolder();
  cpSync(await prepared, dir, { recursive: true });
  return dir;
}

async function serveOnce(): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), 'legate-e2e-'));
  afterThisFile(() => {
    prepared = undefined;
    rmSync(cwd, { recursive: true, force: true });
  });
  await (await serve({ cwd })).stop();
  return cwd;
}

export interface SignedUp {
  readonly id: string;
  readonly token: string;
}

/** Signs a new person up at a running service, which takes less processor time than `legate developer-token`. */
export async function signUp(url: string): Promise<SignedUp> {
  const answer = await fetch(`${url}/sign-up`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'owner@example.com', password: 'correct horse battery' }),
  });
  if (!answer.ok) throw new Error(`POST /sign-up answered ${answer.status}: ${await answer.text()}`);
  const { token, user } = (await answer.json()) as { token: string; user: { id: string } };
  return { id: user.id, token };
}
