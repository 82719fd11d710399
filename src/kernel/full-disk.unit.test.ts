import fs, { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openDataFolder, rotateKeys } from './data-folder.ts';

const { writeFileSync } = fs;

/** Lets files take ten characters, as a disk that is nearly full, until the returned function is called. */
function fillDisk(): () => void {
  const replace = (write: typeof writeFileSync): void => {
    fs.writeFileSync = write;
    syncBuiltinESMExports();
  };
  replace((file, data, options) => {
    writeFileSync(file, String(data).slice(0, 10), options);
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  });
  return () => replace(writeFileSync);
}

it('a full disk leaves the keys as they were, and no parts of keys in other files', () => {
  const dir = mkdtempSync(join(tmpdir(), 'legate-full-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  openDataFolder(dir);
  const path = join(dir, 'secrets.json');
  const before = readFileSync(path, 'utf8');
  const makeRoom = fillDisk();
  onTestFinished(makeRoom);
  expect(() => rotateKeys(dir, ['signing'])).toThrow('ENOSPC');
  expect([readdirSync(dir), readFileSync(path, 'utf8')]).toEqual([['.gitignore', 'secrets.json'], before]);
  rmSync(path);
  expect(() => openDataFolder(dir)).toThrow('ENOSPC');
  expect(readdirSync(dir)).toEqual(['.gitignore']);
  makeRoom();
  expect(openDataFolder(dir).signing).toHaveLength(1);
});
