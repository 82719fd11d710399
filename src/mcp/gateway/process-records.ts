import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { sweepGroup } from './watchdog.ts';

/** A process. Its start time distinguishes it from a later process with the same id. */
const Process = z.object({ pid: z.int().min(2), started: z.string().min(1) });
const Record = z.object({ server: Process, gateway: Process, mark: z.string().optional() });

const FOLDER = 'gateway-processes';

/** Returns the start time of a process as reported by the system; undefined if there is no such process. */
function startOf(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux')
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
    // The name in parentheses may contain spaces. Field 22 is the start in ticks since the system started (proc(5)).
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${ticks}`;
  } catch {
    return undefined;
  }
}

let ownStart: string | undefined;

/**
 * Records a process group in the data folder, so that the next start finds it if this process is killed. Returns a
 * function that removes the record. Without a writable folder, only the watchdog ends the group.
 */
export function recordGroup(dataDir: string, pid: number, mark: string): () => void {
  const started = startOf(pid);
  ownStart ??= startOf(process.pid);
  if (started === undefined || ownStart === undefined) return () => {};
  const record: z.output<typeof Record> = {
    server: { pid, started },
    gateway: { pid: process.pid, started: ownStart },
    mark,
  };
  const path = join(dataDir, FOLDER, `${pid}.json`);
  try {
    mkdirSync(join(dataDir, FOLDER), { recursive: true, mode: 0o700 });
    writeFileSync(path, JSON.stringify(record), { mode: 0o600 });
  } catch {
    return () => {};
  }
  return () => rmSync(path, { force: true });
}

/** Ends the recorded process groups whose gateway has ended. Does not touch a later process with the same id. */
export function endLeftGroups(dataDir: string): void {
  for (const name of namesIn(join(dataDir, FOLDER))) {
    const path = join(dataDir, FOLDER, name);
    const record = readRecord(path);
    if (record && startOf(record.gateway.pid) === record.gateway.started) continue;
    if (record && startOf(record.server.pid) === record.server.started) {
      try {
        process.kill(-record.server.pid, 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    }
    if (record?.mark !== undefined) sweepGroup(record.server.pid, record.mark);
    rmSync(path, { force: true });
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+\.json$/.test(name));
  } catch {
    return [];
  }
}

function readRecord(path: string): z.output<typeof Record> | undefined {
  try {
    return Record.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}
