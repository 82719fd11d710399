import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './cli.ts';

const SOURCES = ['src', 'console', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

/** A migration of a possible next version. It only adds columns, so that this version can use the same database. */
const NEXT_MIGRATION = `
import { type Kysely, sql } from 'kysely';
import type { Migration, MigrationContext } from './migration.ts';

export const next = ({ prefix }: MigrationContext): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql\`create table \${sql.table(prefix + 'next_things')} (id text primary key, agent_id text)\`.execute(db);
    for (const table of ['agents', 'users', 'sessions', 'stream_events', 'head'])
      await sql\`alter table \${sql.table(prefix + table)} add column next_note text default 'n'\`.execute(db);
  },
});
`;
export const NEXT_VERSION = '99.0.0';

/** Copies the sources of this version to a folder, where they are not built yet. */
export function copySources(folder: string): void {
  for (const name of SOURCES) cpSync(join(root, name), join(folder, name), { recursive: true });
  linkPackages(folder);
}

/** Builds the source of this version with another version number and one more migration. Returns the program. */
export function buildNext(folder: string): string {
  copySources(folder);
  replaceIn(join(folder, 'package.json'), /^ {2}"version": ".*"/m, `  "version": "${NEXT_VERSION}"`);
  writeFileSync(join(folder, 'src/storage/migrations/9999-next.ts'), NEXT_MIGRATION);
  const migrate = join(folder, 'src/storage/migrate.ts');
  replaceIn(migrate, /^(const MIGRATIONS[^{]+\{[^}]+)\}/m, "$1  '9999-next': next,\n}");
  replaceIn(migrate, /^/, "import { next } from './migrations/9999-next.ts';\n");
  return built(folder);
}

/** Builds a commit of this repository. Returns the program. */
export function buildCommit(folder: string, commit: string): string {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', commit, ...SOURCES], { cwd: root, maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  linkPackages(folder);
  return built(folder);
}

function replaceIn(path: string, from: RegExp, to: string): void {
  const text = readFileSync(path, 'utf8');
  if (!from.test(text)) throw new Error(`${path} does not contain ${from}`);
  writeFileSync(path, text.replace(from, to));
}

const linkPackages = (folder: string): void =>
  symlinkSync(realpathSync(join(root, 'node_modules')), join(folder, 'node_modules'));

function built(folder: string): string {
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: folder, stdio: 'pipe' });
  return join(folder, 'dist/cli.js');
}
