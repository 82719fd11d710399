import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const dir = mkdtempSync(join(tmpdir(), 'legate-oxlint-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const files = {
  'floating.ts': 'async function save(): Promise<void> {}\nexport function act(): void {\n  save();\n}\n',
  'misused.ts':
    'async function may(): Promise<boolean> {\n  return false;\n}\nexport const answer = (): string => (may() ? ' +
    '"yes" : "no");\n',
  'switch.ts':
    "export function text(kind: 'a' | 'b'): string {\n  switch (kind) {\n    case 'a':\n      return 'A';\n  }\n" +
    "  return '';\n}\n",
  'good.ts':
    "async function save(): Promise<void> {}\nexport async function act(kind: 'a' | 'b'): Promise<string> {\n" +
    "  await save();\n  switch (kind) {\n    case 'a':\n      return 'A';\n    default:\n" +
    "      return 'rest';\n  }\n}\n",
};
let output: string;

beforeAll(() => {
  cpSync(join(root, '.oxlintrc.json'), join(dir, '.oxlintrc.json'));
  cpSync(join(root, 'tsconfig.json'), join(dir, 'base.json'));
  writeFileSync(
    join(dir, 'tsconfig.json'),
    '{"extends":"./base.json","compilerOptions":{"types":[]},"include":["*.ts"]}',
  );
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  output = spawnSync(join(root, 'node_modules/.bin/oxlint'), ['--format=unix', '.'], {
    cwd: dir,
    encoding: 'utf8',
  }).stdout;
});

/** Three mistakes that can lose a record. The rules in .oxlintrc.json must find each of them. */
describe('oxlint', () => {
  it('finds a promise that is not awaited', () => {
    expect(output).toMatch(/floating\.ts:3:.*no-floating-promises/);
  });

  it('finds a promise that is used as its value', () => {
    expect(output).toMatch(/misused\.ts:4:.*no-misused-promises/);
  });

  it('finds a switch that misses a case', () => {
    expect(output).toMatch(/switch\.ts:2:.*switch-exhaustiveness-check/);
  });

  it('accepts correct code', () => {
    expect(output).not.toContain('good.ts');
  });
});
