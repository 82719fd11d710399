import fs, { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { replaceFile } from './anchor.ts';

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
