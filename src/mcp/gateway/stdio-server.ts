import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { InputNotRead, type OpenChannel, ServerUnavailable } from './peer.ts';
import { recordGroup } from './process-records.ts';
import type { GatewayServer } from './servers-file.ts';
import { GROUP_VARIABLE, sweepGroup, watchGroup } from './watchdog.ts';

const INHERITED = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];
const AFTER_INPUT_MS = 2_000;
const AFTER_TERM_MS = 3_000;
/** Time after the end of a process for reading its remaining output. */
const AFTER_EXIT_MS = 1_000;
const KEPT_ERROR_OUTPUT = 4_000;
/** Bytes that may wait for a server that does not read its input. Further messages are not sent. */
const MAX_WAITING_INPUT = 8 * 1024 * 1024;

/** A process ended. `errorOutput` is the last part of its standard error, which may contain secrets. */
export class ProcessEnded extends Error {
  readonly errorOutput: string;

  constructor(code: number | null, signal: NodeJS.Signals | null, errorOutput: string) {
    super(code === null ? `it ended with ${signal}` : `it ended with exit code ${code}`);
    this.errorOutput = errorOutput;
  }
}

/**
 * Kills the process groups of running servers. One listener serves all of them, because Node.js warns if there are more
 * than 10.
 */
const running = new Set<() => void>();
process.once('exit', () => {
  for (const kill of running) kill();
});

/**
 * Starts a server without a shell, in a process group of its own, with a short list of environment variables. `close`
 * closes its input, then sends TERM after 2 s and KILL 3 s later, to the whole group. If this process ends first, even
 * by a kill, the group is killed by a watchdog, or by the next start that finds its record in the data folder. On Linux
 * this includes processes that the server has started in other groups.
 */
export const openProcess =
  (server: GatewayServer, dataDir?: string): OpenChannel =>
  (events) => {
    const inherited = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
    const mark = randomUUID();
    const child = spawn(server.command as string, server.args, {
      cwd: server.cwd,
      env: { ...Object.fromEntries(inherited), ...server.env, [GROUP_VARIABLE]: mark },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const { pid } = child;
    const kill = (name: NodeJS.Signals): void => {
      try {
        if (pid !== undefined) process.kill(-pid, name);
      } catch {
        // The group has ended.
      }
    };
    const killNow = (): void => kill('SIGKILL');
    running.add(killNow);
    if (pid !== undefined) watchGroup(pid, mark);
    const forget = pid === undefined || dataDir === undefined ? () => {} : recordGroup(dataDir, pid, mark);

    const closed = new Promise<void>((resolve) => {
      child.once('error', (error) => {
        events.ended(
          new ServerUnavailable(`it cannot be started: ${(error as NodeJS.ErrnoException).code ?? error.message}`),
        );
        if (pid === undefined) resolve();
      });
      child.once('close', (code, signal) => {
        events.ended(new ProcessEnded(code, signal, errorOutput));
        resolve();
      });
      // A process that the server left running may keep the output open, so `close` might never be emitted.
      child.once('exit', () => {
        killNow();
        if (pid !== undefined) sweepGroup(pid, mark);
        setTimeout(() => {
          child.stdout.destroy();
          child.stderr.destroy();
        }, AFTER_EXIT_MS).unref();
      });
    }).then(() => {
      running.delete(killNow);
      forget();
    });
    child.stdin.on('error', () => {});
    let errorOutput = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errorOutput = (errorOutput + chunk).slice(-KEPT_ERROR_OUTPUT);
    });

    let line: string[] = [];
    let size = 0;
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = chunk.split('\n');
      for (const [i, part] of lines.entries()) {
        line.push(part);
        size += part.length;
        if (size > server.legate.limits.resultBytes) {
          events.ended(new Error('a message is longer than limits.resultBytes'));
          return killNow();
        }
        if (i === lines.length - 1) return;
        receive(line.join(''));
        line = [];
        size = 0;
      }
    });
    function receive(text: string): void {
      let message: unknown;
      try {
        message = JSON.parse(text);
      } catch {
        return; // Many servers write logs to their output, so other lines are ignored.
      }
      events.message(message);
    }

    return {
      send: async (message) => {
        const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
        const waiting = child.stdin.writableLength;
        if (waiting > 0 && waiting + bytes.byteLength > MAX_WAITING_INPUT)
          throw new InputNotRead('it does not read its input');
        child.stdin.write(bytes);
      },
      close: async (atOnce) => {
        if (atOnce) killNow();
        child.stdin.end();
        const term = setTimeout(() => kill('SIGTERM'), AFTER_INPUT_MS);
        const last = setTimeout(killNow, AFTER_INPUT_MS + AFTER_TERM_MS);
        if (pid !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        clearTimeout(term);
        clearTimeout(last);
        await closed;
      },
    };
  };
