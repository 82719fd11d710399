// npm run check: types, format, lint, unused code and generated docs. The checks run at the same time; the output of
// each is printed as a whole when it ends.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const bin = (name, ...args) => [resolve(root, 'node_modules/.bin', name), args];

// With two processors, the other checks use the second one, and parallel type checkers would repeat some work.
const threads = availableParallelism() <= 2 ? ['--singleThreaded'] : [];
// By default, compiler and linter spend a quarter of their time on garbage collection. With more memory they rarely
// collect.
const env = { GOGC: '400', GOMEMLIMIT: '2GiB', ...process.env };

const checks = {
  types: bin('tsc', '-p', 'tsconfig.json', ...threads),
  'types of the console': bin('tsc', '-p', 'console/tsconfig.json', ...threads),
  biome: bin('biome', 'check', '--error-on-warnings', '.'),
  oxlint: bin('oxlint'),
  knip: bin('knip'),
  docs: [process.execPath, [resolve(root, 'scripts/docs.mjs'), '--check']],
};

const check = ([name, [command, args]]) =>
  new Promise((done) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk) => {
      output += chunk;
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', collect);
    child.on('close', (status) => {
      console.log(`${status === 0 ? 'ok' : 'FAILED'}: ${name}\n${output.trim()}`.trim());
      done(status === 0);
    });
  });

const results = await Promise.all(Object.entries(checks).map(check));
process.exit(results.every(Boolean) ? 0 : 1);
