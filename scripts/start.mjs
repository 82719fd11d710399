// npm start: builds if dist/ is missing or older than src/, then serves in this same process. package.json calls it
// with `exec`, so that no shell between npm and this process intercepts npm's signals. cmd.exe has no `exec` and runs
// what follows `||`. The build is a separate process, because Vite sets NODE_ENV to production, and with that the
// service does not start.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const cli = join(root, 'dist/cli.js');

const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
/** Folders count as well, because their time changes when a file is deleted. */
const newestIn = (dir) =>
  readdirSync(dir, { withFileTypes: true }).reduce(
    (newest, entry) =>
      Math.max(
        newest,
        entry.isDirectory()
          ? newestIn(join(dir, entry.name))
          : entry.name.endsWith('.test.ts')
            ? 0
            : changedAt(join(dir, entry.name)),
      ),
    changedAt(dir),
  );

const sources = Math.max(
  newestIn(join(root, 'src')),
  newestIn(join(root, 'console')),
  changedAt(join(root, 'tsconfig.json')),
  changedAt(join(root, 'tsconfig.build.json')),
);
if (changedAt(cli) < sources) {
  console.log('Building ...');
  const [status] = await once(spawn(process.execPath, [join(root, 'scripts/build.mjs')], { stdio: 'inherit' }), 'exit');
  if (status !== 0) process.exit(1);
}
process.argv.splice(1, 1, cli, 'serve');
await import(cli);
