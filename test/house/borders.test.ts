import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modules } from '../../src/modules.ts';

const root = resolve(import.meta.dirname, '../..');
const names = modules.map((m) => m.name);
const before = (name: string): string[] => names.slice(0, names.indexOf(name));

/** For each file: what it may import, and what the borders must refuse. */
interface Border {
  readonly file: string;
  readonly may: readonly string[];
  readonly mayNot: readonly string[];
}

const borders: readonly Border[] = [
  { file: 'src/lib/x.ts', may: ['./ids.ts', 'zod', 'node:crypto'], mayNot: ['../storage/index.ts', '../platform.ts', '../protocol/scope.ts', '../agents/index.ts'] },
  { file: 'src/protocol/x.ts', may: ['./scope.ts'], mayNot: ['../lib/ids.ts', '../http/app.ts'] },
  { file: 'src/tour/x.ts', may: ['./steps.ts'], mayNot: ['../lib/ids.ts', '../service.ts'] },
  { file: 'src/doctor/x.ts', may: ['./report.ts'], mayNot: ['../lib/ids.ts', '../mcp/index.ts', '../service.ts'] },
  { file: 'src/storage/x.ts', may: ['./tables.ts', '../lib/ids.ts', 'kysely'], mayNot: ['../ledger/index.ts', '../platform.ts', '../agents/index.ts', '../http/app.ts'] },
  { file: 'src/storage/migrations/x.ts', may: ['../migrate.ts', '../../lib/ids.ts'], mayNot: ['../../ledger/index.ts', '../../agents/index.ts'] },
  { file: 'src/ledger/x.ts', may: ['../lib/ids.ts', '../storage/index.ts'], mayNot: ['../storage/tables.ts', '../permissions/index.ts', '../platform.ts', '../http/app.ts'] },
  { file: 'src/rate-limit/x.ts', may: ['../lib/ids.ts', '../storage/index.ts'], mayNot: ['../agents/index.ts', '../http/app.ts'] },
  { file: 'src/pages/x.ts', may: ['../lib/ids.ts', './html.ts'], mayNot: ['../storage/index.ts', '../platform.ts', '../users/index.ts', '../http/app.ts'] },
  { file: 'src/pages/texts/x.ts', may: ['./en.ts'], mayNot: ['../html.ts', '../../lib/ids.ts'] },
  ...names.map((name) => ({
    file: `src/${name}/x.ts`,
    may: ['./store.ts', '../lib/ids.ts', '../storage/index.ts', '../ledger/index.ts', '../platform.ts', ...before(name).map((other) => `../${other}/index.ts`)],
    mayNot: [
      '../http/app.ts',
      '../service.ts',
      '../cli.ts',
      '../modules.ts',
      '../storage/tables.ts',
      '../ledger/ledger.ts',
      ...names.filter((other) => other !== name).map((other) => `../${other}/store.ts`),
      ...names.filter((other) => other !== name && !before(name).includes(other)).map((other) => `../${other}/index.ts`),
    ],
  })),
  {
    file: 'src/http/x.ts',
    may: ['../lib/ids.ts', '../storage/index.ts', '../pages/index.ts', '../platform.ts', '../permissions/index.ts'],
    mayNot: ['../service.ts', '../cli.ts', '../agents/index.ts', '../permissions/decide.ts', '../storage/tables.ts'],
  },
  { file: 'src/http/node.ts', may: ['./app.ts', '../service.ts'], mayNot: ['../agents/index.ts', '../cli.ts'] },
  { file: 'src/platform.ts', may: ['./config.ts', './lib/ids.ts', './permissions/policy.ts'], mayNot: ['./agents/index.ts', './service.ts', './http/app.ts', './modules.ts'] },
  { file: 'src/config.ts', may: ['./agents/config.ts', './lib/config.ts'], mayNot: ['./agents/index.ts', './platform.ts', './service.ts'] },
  { file: 'src/modules.ts', may: ['./agents/index.ts', './platform.ts'], mayNot: ['./agents/routes.ts', './service.ts', './http/app.ts'] },
  { file: 'src/service.ts', may: ['./config.ts', './http/app.ts', './permissions/index.ts'], mayNot: ['./cli.ts', './agents/store.ts', './storage/tables.ts'] },
  {
    file: 'src/cli/x.ts',
    may: ['../service.ts', '../modules.ts', '../users/index.ts', '../http/node.ts', '../lib/clock.ts'],
    mayNot: ['../users/store.ts', '../storage/tables.ts'],
  },
  { file: 'src/index.ts', may: ['./service.ts'], mayNot: ['./cli.ts', './agents/store.ts'] },
];

const dir = mkdtempSync(join(tmpdir(), 'legate-borders-'));
let refused: Set<string>;

beforeAll(() => {
  cpSync(join(root, 'biome.jsonc'), join(dir, 'biome.jsonc'));
  const write = (file: string, lines: string[]): void => {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), `${lines.join('\n')}\n`);
  };
  for (const { file, may, mayNot } of borders)
    write(
      file,
      [...may, ...mayNot].map((specifier) => `export * from '${specifier}';`),
    );
  write('src/agents/x.test.ts', ["export * from '../../test/support/service.ts';", "export * from '../http/app.ts';"]);
  write('src/lib/one.ts', ["import { two } from './two.ts';", 'export const one = () => two;']);
  write('src/lib/two.ts', ["import { one } from './one.ts';", 'export const two = () => one;']);
  const biome = join(root, 'node_modules/.bin/biome');
  const { stdout } = spawnSync(
    biome,
    ['lint', '--vcs-enabled=false', '--only=style/noRestrictedImports', '--only=suspicious/noImportCycles', '--reporter=github', '--max-diagnostics=none', '.'],
    { cwd: dir, encoding: 'utf8' },
  );
  refused = new Set(
    [...stdout.matchAll(/title=lint\/\w+\/(\w+),file=([^,]+),line=(\d+)/g)].map(([, rule, file, line]) => `${rule} ${relative(dir, resolve(dir, file as string))}:${line}`),
  );
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('the borders of src/', () => {
  for (const { file, may, mayNot } of borders) {
    for (const [i, specifier] of may.entries())
      it(`${file} may import ${specifier}`, () => {
        expect(refused).not.toContain(`noRestrictedImports ${file}:${i + 1}`);
      });
    for (const [i, specifier] of mayNot.entries())
      it(`${file} may not import ${specifier}`, () => {
        expect(refused).toContain(`noRestrictedImports ${file}:${may.length + i + 1}`);
      });
  }

  it('leave tests free', () => {
    expect([...refused].filter((r) => r.includes('x.test.ts'))).toEqual([]);
  });

  it('allow no cycle', () => {
    expect(refused).toContain('noImportCycles src/lib/one.ts:1');
    expect(refused).toContain('noImportCycles src/lib/two.ts:1');
  });
});
