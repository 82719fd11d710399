// The measured service and the raw server, as child processes pinned to one core.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pinned } from './machine.mjs';
import { sleep } from './numbers.mjs';
import { fromTests } from './typescript.mjs';

const root = resolve(import.meta.dirname, '../..');
const cli = join(root, 'dist/cli.js');
const { startProcess } = await fromTests('support/process');

/**
 * Starts the built service on a database. `nodeArguments` go to Node, e.g. --cpu-prof; `env` is further configuration.
 */
export const startService = (databaseUrl, dataDir, { pin = true, nodeArguments = [], env = {} } = {}) =>
  start([process.execPath, ...nodeArguments, cli, 'serve'], pin, {
    LEGATE_DATABASE_URL: databaseUrl,
    LEGATE_DATA_DIR: dataDir,
    LEGATE_LOG_LEVEL: 'error',
    ...env,
  });

/** Starts a script of bench/ that listens on PORT. */
export const startScript = (name, env) => start([process.execPath, join(root, 'bench', name)], true, env);

export const startReference = () => startScript('reference-server.mjs', {});

async function start(command, pin, env) {
  const running = await startProcess(pin ? pinned(0, command) : command, { cwd: root, env });
  const kill = () => running.process.kill('SIGKILL');
  process.once('exit', kill);
  return {
    url: running.url,
    pid: running.process.pid,
    readyAfterMs: running.readyAfterMs,
    stop: async () => {
      await running.stop();
      process.off('exit', kill);
    },
  };
}

/** The resident memory of a process in megabytes, or undefined where there is no /proc. */
export function residentMb(pid) {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return undefined;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(path, 'utf8'))?.[1] ?? Number.NaN) / 1024;
}

/** The processor time of a process in ms. */
export function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const TICKS_A_SECOND = 100;
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_A_SECOND;
}

/**
 * Resolves when a service has used almost no processor time for 5 s, because its background work is done. Background
 * work on many rows pauses for 3 s at a time.
 */
export async function atRest(service) {
  for (let before = cpuMs(service.pid), quiet = 0; quiet < 10; ) {
    await sleep(500);
    const now = cpuMs(service.pid);
    quiet = now - before <= 30 ? quiet + 1 : 0;
    before = now;
  }
}

/** Writes a file with one request body per line, for the load generator. */
export function writeBodies(path, bodies) {
  writeFileSync(path, `${bodies.map((body) => JSON.stringify(body)).join('\n')}\n`);
  return path;
}
