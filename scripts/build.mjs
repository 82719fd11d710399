// npm run build: builds src/ into dist/. It uses a staging folder first, so that a failed build does not change dist/.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const root = resolve(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const dist = join(root, 'dist');
const staging = join(root, '.tsbuild', String(process.pid));
const previous = `${staging}.previous`;

/**
 * Bundles the program into one file, because reading 500 small files takes two thirds of the time of a start. Packages
 * that are needed later, or are native, stay separate. The library keeps its files, and applications bundle it as they
 * like.
 */
async function bundleProgram() {
  const { rolldown } = await import('rolldown');
  const external = [
    '@node-rs/argon2',
    '@simplewebauthn/server',
    '@simplewebauthn/server/helpers',
    'libsql',
    'pg',
    'pino',
    'prom-client',
  ];
  const program = await rolldown({ input: join(staging, 'cli.js'), platform: 'node', external });
  const folder = join(staging, 'program');
  await program.write({ dir: folder, format: 'esm', comments: { legal: true, annotation: false, jsdoc: false } });
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    writeFileSync(file, escaped(readFileSync(file, 'utf8')));
  }
  for (const bundled of ['cli', 'cli.js.map']) rmSync(join(staging, bundled), { recursive: true });
  writeFileSync(join(staging, 'cli.js'), "#!/usr/bin/env node\nimport './program/cli.js';\n");
  // npx runs the file itself, and the mode option of writeFileSync does not change a file that exists.
  chmodSync(join(staging, 'cli.js'), 0o755);
}

/** Escapes characters outside ASCII. One of them in a file doubles the memory that Node.js needs for its text. */
const escaped = (text) =>
  text.replace(/[^\0-\x7f]/gu, (character) => {
    const code = character.codePointAt(0);
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });

/** Bundles the client into one file, which a page can load as it is. */
async function bundleClient() {
  const { rolldown } = await import('rolldown');
  const client = await rolldown({ input: join(staging, 'client.js') });
  await client.write({ file: join(staging, 'client.js'), format: 'esm', minify: true, sourcemap: true });
  for (const file of readdirSync(join(staging, 'client')))
    if (!file.endsWith('.d.ts')) rmSync(join(staging, 'client', file));
}

/** Builds the web console. Its text files are stored only in two compressed formats. */
async function buildConsole() {
  const { build: bundle } = await import('vite');
  const folder = join(staging, 'console-assets');
  await bundle({
    root: join(root, 'console'),
    base: './',
    logLevel: 'error',
    resolve: { alias: { 'legate/client': join(root, 'src/client.ts') } },
    build: {
      outDir: folder,
      target: 'es2022',
      assetsInlineLimit: 0,
      manifest: 'manifest.json',
      // The polyfill is only for browsers that do not preload modules.
      modulePreload: { polyfill: false },
      // There is one style sheet, which the page loads itself.
      cssCodeSplit: false,
      reportCompressedSize: false,
      rollupOptions: { input: join(root, 'console/src/main.tsx') },
    },
  });
  for (const name of readdirSync(join(folder, 'assets'))) {
    if (!/\.(js|css|svg)$/.test(name)) continue;
    const file = join(folder, 'assets', name);
    const content = readFileSync(file);
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
    writeFileSync(`${file}.br`, brotliCompressSync(content));
    rmSync(file);
  }
}

/** Bundles the verifier into one file without dependencies, which auditors can copy and run alone. */
async function bundleVerifier() {
  const { rolldown } = await import('rolldown');
  const verifier = await rolldown({ input: join(staging, 'verify.js'), platform: 'node' });
  await verifier.write({ file: join(staging, 'verify.js'), format: 'esm' });
  // The folder stays, because the library uses it too.
  for (const bundled of ['verify.js.map', 'verify.d.ts'])
    rmSync(join(staging, bundled), { recursive: true, force: true });
}

/** Writes the API description of the default configuration, so that the package contains it. */
function describeApi() {
  const { status, stdout } = spawnSync(process.execPath, [join(dist, 'cli.js'), 'openapi'], {
    cwd: dist,
    env: {},
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error('legate openapi failed');
  writeFileSync(join(dist, 'openapi.json'), JSON.stringify(JSON.parse(stdout)));
}

/** Builds, or exits with 1. */
async function build() {
  try {
    const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
    const { status } = spawnSync(
      process.execPath,
      // Types are not checked here, because that takes twice as long as the rest, and `npm run check` does it.
      [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', staging, '--noEmitOnError', '--noCheck'],
      { stdio: 'inherit' },
    );
    // The compiler has printed the reason.
    if (status !== 0) {
      rmSync(staging, { recursive: true, force: true });
      process.exit(1);
    }

    const assets = join(staging, 'docs-assets');
    mkdirSync(assets);
    const swaggerUi = dirname(require.resolve('swagger-ui-dist/package.json'));
    for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE', 'NOTICE'])
      cpSync(join(swaggerUi, file), join(assets, file));

    await bundleProgram();
    await bundleClient();
    await buildConsole();
    await bundleVerifier();
    if (existsSync(dist)) renameSync(dist, previous);
    renameSync(staging, dist);
    describeApi();
  } finally {
    rmSync(staging, { recursive: true, force: true });
    rmSync(previous, { recursive: true, force: true });
  }
}

await build();
