import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openDataFolder, rotateKeys } from './data-folder.ts';

const disk = vi.hoisted(() => ({ isFull: false }));

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const writeFileSync: typeof fs.writeFileSync = (file, data, options) => {
    if (!disk.isFull) return fs.writeFileSync(file, data, options);
    fs.writeFileSync(file, String(data).slice(0, 10), options);
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  return { ...fs, writeFileSync };
});

it('a full disk leaves the keys as they were, and no parts of keys in other files', () => {
  const dir = mkdtempSync(join(tmpdir(), 'legate-full-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  openDataFolder(dir);
  const path = join(dir, 'secrets.json');
  const before = readFileSync(path, 'utf8');
  disk.isFull = true;
  expect(() => rotateKeys(dir, ['signing'])).toThrow('ENOSPC');
  expect([readdirSync(dir), readFileSync(path, 'utf8')]).toEqual([['.gitignore', 'secrets.json'], before]);
  rmSync(path);
  expect(() => openDataFolder(dir)).toThrow('ENOSPC');
  expect(readdirSync(dir)).toEqual(['.gitignore']);
  disk.isFull = false;
  expect(openDataFolder(dir).signing).toHaveLength(1);
});
