import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openDataFolder, openToOthers, rotateKeys } from './data-folder.ts';

const scratch = mkdtempSync(join(tmpdir(), 'legate-folder-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
let count = 0;
const newFolder = (): string => join(scratch, `data${++count}`, 'nested');

describe('openDataFolder', () => {
  it('creates the folder with mode 0700 and secrets.json with 0600; each key has an id and 32 random bytes', () => {
    const dir = newFolder();
    const { signing, cookie, pepper } = openDataFolder(dir);
    expect([mode(dir), mode(join(dir, 'secrets.json'))]).toEqual(['700', '600']);
    const keys = [signing, cookie, pepper].map((list) => list[0]);
    for (const key of keys) expect(Buffer.from(key?.key ?? '', 'base64url')).toHaveLength(32);
    expect(new Set(keys.map((key) => key?.key)).size).toBe(3);
    expect(new Set(keys.map((key) => key?.id)).size).toBe(3);
    expect(readdirSync(dir).sort()).toEqual(['.gitignore', 'secrets.json']);
    expect(readFileSync(join(dir, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('returns the same secrets when called again', () => {
    const dir = newFolder();
    expect(openDataFolder(dir)).toEqual(openDataFolder(dir));
  });

  it('removes the copies of the keys that a killed process left a minute ago, and no newer ones', () => {
    const dir = newFolder();
    openDataFolder(dir);
    const [old, fresh, other] = ['secrets.json.7.00c0ffee', 'secrets.json.8.00c0ffee', 'secrets.json.old'];
    const aged = (name: string): void => {
      writeFileSync(join(dir, name), '{}');
      utimesSync(join(dir, name), 1, 1);
    };
    for (const name of [old, other]) aged(name);
    writeFileSync(join(dir, fresh), '{}');
    openDataFolder(dir);
    const left = ['.gitignore', 'secrets.json', fresh, other];
    expect(readdirSync(dir).sort()).toEqual(left);
    aged(old);
    rotateKeys(dir, ['signing']);
    expect(readdirSync(dir).sort()).toEqual(left);
  });

  it('refuses an invalid file without showing its content', () => {
    const dir = newFolder();
    openDataFolder(dir);
    const path = join(dir, 'secrets.json');
    for (const content of [
      '{"signing": "hunter2',
      '{"signing":[{"id":"a","key":"aHVudGVyMg","createdAt":"2030-01-01T00:00:00.000Z"}]}',
      '[]',
    ]) {
      writeFileSync(path, content);
      expect(() => openDataFolder(dir)).toThrow(path);
      expect(() => openDataFolder(dir)).not.toThrow(/hunter2|aHVudGVyMg/);
    }
  });
});

describe('openToOthers', () => {
  it('lists what other users of the machine can read', () => {
    const dir = newFolder();
    expect(openToOthers(dir)).toEqual([]);
    openDataFolder(dir);
    expect(openToOthers(dir)).toEqual([]);
    chmodSync(dir, 0o755);
    chmodSync(join(dir, 'secrets.json'), 0o640);
    expect(openToOthers(dir)).toEqual([dir, join(dir, 'secrets.json')]);
  });
});
