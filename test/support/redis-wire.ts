import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './process.ts';

const PROGRAMS = ['redis-server', 'valkey-server'];
const START_TIMEOUT_MS = 60_000;

/** Starts a Redis server. Returns undefined if the program is not on the PATH. */
export async function startRedis(): Promise<
  { readonly url: string; stop(): void; signal(signal: NodeJS.Signals): void } | undefined
> {
  const program = PROGRAMS.find((name) => spawnSync(name, ['--version']).status === 0);
  if (!program) return undefined;
  const port = await freePort();
  const server = await start(program, port);
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: () => void server.kill('SIGKILL'),
    signal: (signal) => void server.kill(signal),
  };
}

function start(program: string, port: number): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const server = spawn(
      program,
      ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', '/tmp'],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    const timer = setTimeout(
      () => reject(new Error(`${program} did not start within ${START_TIMEOUT_MS} ms`)),
      START_TIMEOUT_MS,
    );
    server.stdout.on('data', (chunk: Buffer) => {
      if (!chunk.toString().includes('Ready to accept connections')) return;
      clearTimeout(timer);
      resolve(server);
    });
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`${program} ended with ${code}`)));
    // An interrupted test run must not leave a server running.
    process.once('exit', () => server.kill('SIGKILL'));
  });
}

const listening = (server: Server, port = 0): Promise<number> =>
  new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));

/** A proxy to Redis that can be interrupted. */
export interface Wire {
  readonly url: string;
  /** Breaks every connection and accepts no new ones. */
  cut(): Promise<void>;
  /** Keeps and accepts connections, but forwards nothing until `mend`. */
  freeze(): void;
  /** Ends the interruption. */
  mend(): Promise<void>;
  /** Returns the number of commands sent to Redis so far. */
  readonly commands: () => number;
  close(): Promise<void>;
}

export async function wireTo(url: string): Promise<Wire> {
  const { hostname, port, pathname } = new URL(url);
  const open = new Set<Socket>();
  let frozen = false;
  let commands = 0;
  const make = (): Server =>
    createServer((near) => {
      const far = connect(Number(port || 6379), hostname);
      for (const socket of [near, far]) {
        open.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          open.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.on('data', (chunk) => {
        commands += chunk.toString('latin1').match(/^\*\d+\r$/gm)?.length ?? 0;
        far.write(chunk);
      });
      far.on('data', (chunk) => near.write(chunk));
      if (frozen) for (const socket of [near, far]) socket.pause();
    });
  let server = make();
  const own = await listening(server);
  const cut = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  };
  return {
    url: `redis://127.0.0.1:${own}${pathname}`,
    cut,
    freeze: () => {
      frozen = true;
      for (const socket of open) socket.pause();
    },
    mend: async () => {
      frozen = false;
      for (const socket of open) socket.resume();
      if (server.listening) return;
      server = make();
      await listening(server, own);
    },
    commands: () => commands,
    close: cut,
  };
}
