import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { replaceFile } from './anchor.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const writeSync = (file: number, bytes: string | Buffer, at = 0): number =>
    fs.writeSync(file, Buffer.from(bytes), at, Math.min(7, Buffer.from(bytes).length - at));
  return { ...fs, writeSync };
});

it('a file is complete also if the system writes only a part of it at once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'legate-anchor-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const note = 'log.example/ledger\n12\nroot\n\n— log.example/ledger signature\n';
  await replaceFile(dir, 'note', note);
  expect(readFileSync(join(dir, 'note'), 'utf8')).toBe(note);
});
