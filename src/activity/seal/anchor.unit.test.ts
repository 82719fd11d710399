import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { removeUnfinishedAnchors, replaceFile } from './anchor.ts';

const { writeSync } = fs;

function replaceWriteSync(write: typeof writeSync): void {
  fs.writeSync = write;
  syncBuiltinESMExports();
}

it('a file is complete also if the system writes only a part of it at once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'legate-anchor-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const note = 'log.example/ledger\n12\nroot\n\n— log.example/ledger signature\n';
  let writes = 0;
  onTestFinished(() => replaceWriteSync(writeSync));
  replaceWriteSync(((file: number, bytes: string | Buffer, at: number): number => {
    writes++;
    return writeSync(file, Buffer.from(bytes), at, Math.min(7, Buffer.from(bytes).length - at));
  }) as typeof writeSync);
  await replaceFile(dir, 'note', note);
  expect(writes).toBeGreaterThan(1);
  expect(readFileSync(join(dir, 'note'), 'utf8')).toBe(note);
});

it('what a killed process left is removed, but no file that may still be written, and no other one', () => {
  const dir = mkdtempSync(join(tmpdir(), 'legate-anchor-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const kept = ['ledger-anchor', 'ledger-anchor.3', 'ledger-anchor.old.3.4', 'notes.3.4'];
  for (const name of [...kept, 'ledger-anchor.3.4', 'ledger-anchor.1.1']) {
    writeFileSync(join(dir, name), '');
    utimesSync(join(dir, name), 1, 1);
  }
  writeFileSync(join(dir, 'ledger-anchor.5.6'), '');
  removeUnfinishedAnchors(dir);
  removeUnfinishedAnchors(join(dir, 'missing'));
  expect(readdirSync(dir).sort()).toEqual([...kept, 'ledger-anchor.5.6'].sort());
});
