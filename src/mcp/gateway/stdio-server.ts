import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Connection, resultOf } from './connection.ts';
import type { GatewayServer } from './servers-file.ts';

const INHERITED = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];
const MAX_LINE = 10_000_000;
const AFTER_INPUT_MS = 2_000;
const AFTER_TERM_MS = 3_000;

/**
 * Starts a server without a shell, in a process group of its own. `close` closes its input, then sends TERM after 2 s
 * and KILL 3 s later, to the whole group. If this process exits first, the group is killed.
 */
export function openProcess(server: GatewayServer, signal: AbortSignal): Connection {
  const inherited = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const child = spawn(server.command as string, server.args, {
    cwd: server.cwd,
    env: { ...Object.fromEntries(inherited), ...server.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const kill = (name: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // The group has ended.
    }
  };
  const killNow = (): void => kill('SIGKILL');
  process.once('exit', killNow);

  const waiting = new Map<number, { resolve: (answer: Record<string, unknown>) => void; reject: (e: Error) => void }>();
  let failure: Error | undefined;
  const fail = (error: Error): void => {
    failure ??= error;
    for (const { reject } of waiting.values()) reject(failure);
    waiting.clear();
  };
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      fail(new Error(`it cannot be started: ${(error as NodeJS.ErrnoException).code ?? error.message}`));
      if (child.pid === undefined) resolve();
    });
    child.once('close', (code) => {
      fail(new Error(`it ended with exit code ${code}`));
      resolve();
    });
  });
  child.stdin.on('error', () => {});
  signal.addEventListener('abort', () => fail(new Error('it did not answer in time')), { once: true });

  let buffer = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (buffer + chunk).split('\n');
    buffer = lines.pop() as string;
    if (buffer.length > MAX_LINE) {
      buffer = '';
      return fail(new Error('a message is too long'));
    }
    for (const line of lines) receive(line);
  });
  function receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return; // Servers that log to their output are common.
    }
    const { id, method } = (message ?? {}) as { id?: unknown; method?: unknown };
    if (typeof id !== 'number' || method !== undefined) return;
    waiting.get(id)?.resolve(message as Record<string, unknown>);
    waiting.delete(id);
  }

  let lastId = 0;
  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  };
  return {
    request: async (method, params) => {
      if (failure) throw failure;
      const id = ++lastId;
      const answer = new Promise<Record<string, unknown>>((resolve, reject) => waiting.set(id, { resolve, reject }));
      send({ id, method, params });
      return resultOf(await answer);
    },
    notify: async (method) => send({ method }),
    close: async () => {
      child.stdin.end();
      const term = setTimeout(() => kill('SIGTERM'), AFTER_INPUT_MS);
      const last = setTimeout(killNow, AFTER_INPUT_MS + AFTER_TERM_MS);
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      clearTimeout(term);
      clearTimeout(last);
      // Processes that the server started and left.
      killNow();
      await ended;
      process.off('exit', killNow);
    },
  };
}
