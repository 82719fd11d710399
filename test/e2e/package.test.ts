import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareApplication } from '../support/application.ts';
import { startProcess } from '../support/process.ts';
import type { Json } from '../support/service.ts';

const root = resolve(import.meta.dirname, '../..');
const scratch = mkdtempSync(join(tmpdir(), 'legate-package-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Runs a program to its end. If it fails, throws its output. */
function run(program: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  expect(status, `${program} ${args.join(' ')}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}
const bin = (name: string): string => join(root, 'node_modules/.bin', name);

let tarball: string;
let files: string[];
/** The folder in which the package is installed as a user would install it. */
const home = join(scratch, 'home');

beforeAll(() => {
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', scratch], root)) as [
    { filename: string; integrity: string; files: { path: string }[] },
  ];
  tarball = join(scratch, packed.filename);
  files = packed.files.map((f) => f.path);
  mkdirSync(home);
  prepareApplication(home, tarball, packed.integrity);
  run('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], home);
});

describe('the packed package', () => {
  it('contains only required files', () => {
    for (const file of [
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/cli.js',
      'dist/node.js',
      'dist/mcp.js',
      'dist/client.js',
      'dist/client.d.ts',
      'dist/client/types.d.ts',
      'dist/agents.js',
      'dist/openapi.json',
    ])
      expect(files).toContain(file);
    expect(files.filter((file) => /\.test\.|\.cases\.|^(src|test|scripts|bench)\//.test(file))).toEqual([]);
  });

  it('has every file that its texts link to', () => {
    const missing = files
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
          .map((found) => decodeURIComponent(found[1] as string))
          .filter((link) => !/^[a-z]+:/.test(link))
          .map((link) => join(dirname(file), link).replace(/\/$/, ''))
          .filter((target) => !files.some((packed) => packed === target || packed.startsWith(`${target}/`)))
          .map((target) => `${file}: ${target}`),
      );
    expect(missing).toEqual([]);
  });

  it('passes publint', () => {
    run(bin('publint'), ['--strict', tarball], root);
  });

  it('has types that resolve', () => {
    run(bin('attw'), ['--profile', 'esm-only', tarball], root);
  });

  it('type-checks in an application that checks the types of its dependencies and installs no others', () => {
    writeFileSync(
      join(home, 'app.ts'),
      [
        "import { createLegate, type Legate, LegateError } from 'legate';",
        "import { listen } from 'legate/node';",
        "import { protectMcp } from 'legate/mcp';",
        "import { LegateClient, LegateError as ClientError, type Agent } from 'legate/client';",
        "const client = new LegateClient({ baseUrl: 'https://auth.example.com', token: 'lgk_x' });",
        'export const agents: AsyncIterable<Agent> = client.agents.list({ status: "active" });',
        'export const reason: string | undefined = (await client.authorize({ action: "a", resource: "r" })).reason;',
        "import { guardFor } from 'legate/agents';",
        "export const tools = guardFor(client, { agent: 'agt_1', app: 'notes' }).tools({ a: { execute: () => 1 } });",
        '// @ts-expect-error an agent has a name',
        'export const made = client.agents.create({ ownerId: "usr_1", type: "service", permissions: [] });',
        'export const isTheirs = (error: unknown): boolean => error instanceof ClientError;',
        'export const legate: Legate = await createLegate({ baseUrl: "https://auth.example.com", env: {} });',
        'export const inProcess = guardFor(legate, { agent: (context: { agentId: string }) => context.agentId, app: ' +
          "'notes' });",
        'export const { port } = await listen(legate, { port: 0, host: "127.0.0.1" });',
        "import { Hono } from 'hono';",
        "import { honoMcp, type McpAuth } from 'legate';",
        '// As the transports of the MCP SDK declare it.',
        'interface Auth { token: string; clientId: string; scopes: string[]; expiresAt?: number; resource?: URL;',
        '  extra?: Record<string, unknown> }',
        'declare const handle: (request: Request, options?: { authInfo?: Auth }) => Promise<Response>;',
        'declare const options: Parameters<typeof protectMcp>[1];',
        'export const guarded = protectMcp((request, context) => handle(request, context), options);',
        'export const app = new Hono<{ Variables: { authInfo: McpAuth } }>();',
        'app.use(honoMcp(options));',
        "app.all('/mcp', (c) => handle(c.req.raw, { authInfo: c.get('authInfo') }));",
        'export const isOurs = (error: unknown): boolean => error instanceof LegateError;',
      ].join('\n'),
    );
    const options = {
      strict: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      target: 'ES2023',
      module: 'NodeNext',
      moduleResolution: 'NodeNext',
      lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      noEmit: true,
    };
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['app.ts'] }));
    run(bin('tsc'), ['-p', join(home, 'tsconfig.json')], home);
  });

  it('contains the sources that its source maps name', () => {
    const map = JSON.parse(readFileSync(join(home, 'node_modules/legate/dist/service.js.map'), 'utf8'));
    expect(map.sourcesContent?.[0]).toContain('export async function createLegate');
  });

  it('needs no install script', () => {
    const { packages } = JSON.parse(readFileSync(join(home, 'node_modules/.package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean }>;
    };
    expect(Object.keys(packages).length).toBeGreaterThan(5);
    expect(Object.entries(packages).filter(([, entry]) => entry.hasInstallScript)).toEqual([]);
    const { scripts } = JSON.parse(readFileSync(join(home, 'node_modules/legate/package.json'), 'utf8'));
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
    expect(files).not.toContain('binding.gyp');
  });

  it('can be imported', () => {
    const source =
      "import('legate').then(async (m) => { const l = await m.createLegate({ dataDir: 'imported' }); await " +
      'l.close(); console.log(Object.keys(m).sort().join()) })';
    const names = run(process.execPath, ['-e', source], home).trim().split(',');
    expect(names).toEqual(
      expect.arrayContaining([
        'LegateError',
        'createBreachCheck',
        'createLegate',
        'createRateLimiter',
        'expressMcp',
        'fastifyMcp',
        'honoMcp',
        'protectMcp',
        'withRateLimit',
      ]),
    );
  });

  it('has a guard for MCP servers that does not load the service', () => {
    const source = "import('legate/mcp').then((m) => console.log(Object.keys(m).sort().join()))";
    expect(run(process.execPath, ['-e', source], home).trim()).toBe('expressMcp,fastifyMcp,honoMcp,protectMcp');
  });

  it('has a client in one small file without dependencies', () => {
    const code = readFileSync(join(home, 'node_modules/legate/dist/client.js'), 'utf8');
    expect(code).not.toMatch(/\bimport\b|\brequire\(/);
    expect(gzipSync(code).length).toBeLessThanOrEqual(6 * 1024);
    const source = "import('legate/client').then((m) => console.log(Object.keys(m).sort().join()))";
    expect(run(process.execPath, ['-e', source], home).trim()).toBe('DeniedError,LegateClient,LegateError,etagOf');
    const types = ['client.d.ts', 'client/types.d.ts', 'client/client.d.ts', 'client/stream.d.ts'];
    for (const file of types)
      expect(readFileSync(join(home, 'node_modules/legate/dist', file), 'utf8')).not.toMatch(/from '[^.]/);
  });

  it('starts, decides, keeps its decisions over a restart, and stops', async () => {
    const env = {
      LEGATE_DATA_DIR: join(home, 'data'),
      LEGATE_ADMIN_EMAIL: 'admin@example.com',
      LEGATE_ADMIN_PASSWORD: 'correct horse battery staple',
    };
    const command = [join(home, 'node_modules/.bin/legate'), 'serve'] as const;
    const first = await startProcess([...command], { cwd: home, env });
    const call = async (
      base: string,
      method: string,
      path: string,
      token: string | undefined,
      body?: unknown,
    ): Promise<Json> => {
      const headers = {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      };
      const response = await fetch(base + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true);
      return response.json();
    };
    const { token, user } = await call(first.url, 'POST', '/sign-in', undefined, {
      email: env.LEGATE_ADMIN_EMAIL,
      password: env.LEGATE_ADMIN_PASSWORD,
    });
    const agent = await call(first.url, 'POST', '/agents', token, {
      ownerId: user.id,
      name: 'first',
      type: 'service',
      permissions: [{ resource: 'mcp:github:*', actions: ['read'] }],
    });
    const decision = await call(first.url, 'POST', '/authorize', agent.token, {
      action: 'read',
      resource: 'mcp:github:list_issues',
    });
    expect(decision).toEqual({ allowed: true, auditId: expect.stringMatching(/^aud_/) });
    expect(first.output()).not.toContain(env.LEGATE_ADMIN_PASSWORD);
    expect(await first.stop()).toBe(0);

    const second = await startProcess([...command], { cwd: home, env });
    const entries = await call(second.url, 'GET', `/audit?agentId=${agent.id}`, token);
    expect(entries).toMatchObject([{ id: decision.auditId, result: 'allowed' }]);
    expect(await second.stop()).toBe(0);
  });
});
