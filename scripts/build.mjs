// npm run build: src/ -> dist/. Built beside and then put in place, so that a failed build leaves what was there.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const dist = join(root, 'dist');
const beside = join(root, '.tsbuild', String(process.pid));
const before = `${beside}.before`;

/** Builds; throws when it fails. */
export function build() {
  try {
    const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
    const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', beside, '--noEmitOnError'], { stdio: 'inherit' });
    if (status !== 0) throw new Error('the build failed');

    const assets = join(beside, 'docs-assets');
    mkdirSync(assets);
    const swaggerUi = dirname(require.resolve('swagger-ui-dist/package.json'));
    for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE', 'NOTICE']) cpSync(join(swaggerUi, file), join(assets, file));

    chmodSync(join(beside, 'cli.js'), 0o755);
    if (existsSync(dist)) renameSync(dist, before);
    renameSync(beside, dist);
  } finally {
    rmSync(beside, { recursive: true, force: true });
    rmSync(before, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) build();
