import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';

interface Executes {
  exec(this: unknown, sql: string): unknown;
}

/**
 * Lets SQLite commit without waiting for the disk. No test of a service in one process cuts the power, and syncs took a
 * third of the time of a run. src/storage/sqlite-handle.unit.test.ts tests the settings of the service itself;
 * processes of the built package sync as usual.
 */
export function commitUnsynced(): void {
  const drivers: (Executes | undefined)[] = [
    (createRequire(import.meta.url)('libsql') as { prototype: Executes }).prototype,
    // Available since Node 22.
    (process.getBuiltinModule('node:sqlite') as { DatabaseSync?: { prototype: Executes } } | undefined)?.DatabaseSync
      ?.prototype,
  ];
  for (const driver of drivers) {
    if (!driver || driver.exec.name === 'unsynced') continue;
    const { exec } = driver;
    driver.exec = function unsynced(sql) {
      return exec.call(this, sql.replace(/^pragma synchronous = (full|normal)$/, 'pragma synchronous = off'));
    };
  }
  fs.fdatasync = ((_file: number, done: () => void) => void setImmediate(done)) as unknown as typeof fs.fdatasync;
  fs.fdatasyncSync = () => {};
  syncBuiltinESMExports();
}
