import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './cli.ts';

const SOURCES = ['src', 'console', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

/** A migration of a possible next version. It only adds columns, so that this version can use the same database. */
const NEXT_MIGRATION = `
  '9999-next': ({ prefix }) => ({
    up: async (db) => {
      const things = db.schema.createTable(prefix + 'next_things');
      await things.addColumn('id', 'text', (id) => id.primaryKey()).addColumn('agent_id', 'text').execute();
      for (const table of ['agents', 'users', 'sessions', 'stream_events', 'head'])
        await db.schema
          .alterTable(prefix + table)
          .addColumn('next_note', 'text', (note) => note.defaultTo('n'))
          .execute();
    },
  }),
`;
export const NEXT_VERSION = '99.0.0';

/** Copies the sources of this version to a folder, where they are not built yet. */
export function copySources(folder: string): void {
  for (const name of SOURCES) cpSync(join(root, name), join(folder, name), { recursive: true });
  linkPackages(folder);
}

/** Copies the built program and gives it another version number and one more migration. Returns the program. */
export function makeNext(folder: string): string {
  for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
  linkPackages(folder);
  replaceIn(join(folder, 'package.json'), /^ {2}"version": ".*"/m, `  "version": "${NEXT_VERSION}"`);
  const program = join(folder, 'dist/program');
  const migrations = /^const MIGRATIONS = \{/m;
  const file = readdirSync(program).find((name) => migrations.test(readFileSync(join(program, name), 'utf8')));
  replaceIn(join(program, file ?? 'no file with MIGRATIONS'), migrations, `$&${NEXT_MIGRATION}`);
  return join(folder, 'dist/cli.js');
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
