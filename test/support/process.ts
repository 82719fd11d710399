import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Returns a free TCP port on loopback, below the range from which the system takes ports for outgoing connections, so
 * that the port is still free when a program restarts on it.
 */
export async function freePort(): Promise<number> {
  for (let left = 100; left > 0; left--) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port)) return port;
  }
  throw new Error('No free port between 20000 and 31999.');
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

export interface Running {
  readonly url: string;
  readonly process: ChildProcess;
  /** Returns its output so far. */
  output(): string;
  /** Milliseconds from the start to the first 200 of /health/ready. */
  readonly readyAfterMs: number;
  /** Sends SIGTERM. Resolves to the exit code. Kills the process and rejects after a minute. */
  stop(): Promise<number | null>;
}

const START_TIMEOUT_MS = 170_000;
const STOP_TIMEOUT_MS = 60_000;

/**
 * Starts a service as a separate process, with PATH, HOME and `env` as its environment, and waits until it is ready. It
 * listens on a free port, or on `PORT` of `env`.
 * @param command program and its arguments
 */
export async function startProcess(
  command: readonly [string, ...string[]],
  options: { cwd: string; env?: Record<string, string> },
): Promise<Running> {
  const port = Number(options.env?.['PORT'] ?? (await freePort()));
  const url = `http://127.0.0.1:${port}`;
  const { PATH = '', HOME = '' } = process.env as { PATH?: string; HOME?: string };
  const startedAt = performance.now();
  const child = spawn(command[0], command.slice(1), {
    cwd: options.cwd,
    env: { PATH, HOME, PORT: String(port), HOST: '127.0.0.1', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let ended: number | null | undefined;
  child.stdout.on('data', (chunk: Buffer) => (text += chunk));
  child.stderr.on('data', (chunk: Buffer) => (text += chunk));
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      ended = code;
      resolve(code);
    });
  });
  exit.catch(() => {});

  for (;;) {
    if (ended !== undefined) throw new Error(`The process ended with ${ended}:\n${text}`);
    if (performance.now() - startedAt > START_TIMEOUT_MS) {
      child.kill('SIGKILL');
      throw new Error(`The process was not ready within ${START_TIMEOUT_MS} ms:\n${text}`);
    }
    const ready = await fetch(`${url}/health/ready`).then(
      (r) => r.ok,
      () => false,
    );
    if (ready) break;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return {
    url,
    process: child,
    output: () => text,
    readyAfterMs: performance.now() - startedAt,
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      const code = await exit;
      clearTimeout(timer);
      return code;
    },
  };
}
