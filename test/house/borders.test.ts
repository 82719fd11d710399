import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../../src');

/**
 * For each area, the areas that it may import. All imports point from the wiring down to the kernel. Of the areas in
 * OPEN, any file may be imported; of the others, only the `index.ts` of a module.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  storage: ['kernel'],
  access: ['kernel', 'storage', 'platform.ts'],
  ledger: ['kernel', 'storage', 'access'],
  http: ['kernel', 'storage', 'ledger', 'access', 'pages', 'platform.ts'],
  pages: ['kernel', 'access'],
  'operations/mail': ['kernel'],
  'operations/outbound': ['kernel'],
  operations: ['kernel', 'storage', 'ledger', 'access', 'http', 'pages', 'platform.ts'],
  authorization: ['kernel', 'storage', 'ledger', 'access', 'http', 'pages', 'platform.ts'],
  people: ['kernel', 'storage', 'ledger', 'access', 'http', 'pages', 'operations', 'platform.ts'],
  oauth: [
    'kernel',
    'storage',
    'ledger',
    'access',
    'http',
    'pages',
    'operations',
    'authorization',
    'people',
    'mcp',
    'platform.ts',
  ],
  'mcp/guard': ['kernel'],
  mcp: [
    'kernel',
    'storage',
    'ledger',
    'access',
    'http',
    'pages',
    'operations',
    'authorization',
    'people',
    'platform.ts',
  ],
  activity: [
    'kernel',
    'storage',
    'ledger',
    'access',
    'http',
    'pages',
    'operations',
    'authorization',
    'people',
    'platform.ts',
    'verify',
  ],
  console: ['kernel', 'http', 'pages', 'platform.ts'],
  // The client runs anywhere: it imports nothing of the service.
  client: [],
  'client.ts': ['client'],
  // The verifier runs alone.
  verify: [],
  'verify.ts': ['verify'],
  // A witness is another party than the ledger: it shares the verifier's code, and none of the seal's.
  witness: ['storage', 'verify'],
  'agents-sdk': [],
  'agents.ts': ['agents-sdk'],
  // The tour and the doctor use a service over HTTP only, like any client.
  'cli/tour': ['client'],
  'cli/doctor': [],
  cli: ['*'],
  'cli.ts': ['cli', 'kernel'],
  'node.ts': ['http'],
  'mcp.ts': ['mcp'],
  'index.ts': ['*'],
  'modules.ts': ['*'],
  // And each module's own `config.ts`.
  'config.ts': ['kernel', 'http'],
  'platform.ts': ['kernel', 'storage', 'ledger', 'access', 'http', 'operations/mail', 'config.ts'],
  'service.ts': ['*'],
  'api.ts': ['*'],
  'upkeep.ts': ['*'],
  'module-states.ts': ['platform.ts'],
};
const OPEN = ['kernel', 'access', 'http', 'cli'];
/** Files that wire modules together, so they may import any file. */
const WIRING = ['index.ts', 'mcp.ts', 'service.ts', 'api.ts'];

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = (readdirSync(src, { recursive: true }) as string[]).filter(
  (f) => f.endsWith('.ts') && !/\.(test|cases)\.ts$/.test(f),
);

const STATEMENT = /^(?:import|export)\s[^'"]*?from\s+'(\.[^']*)'|\bimport\('(\.[^']*)'\)/gm;
const imports: readonly Import[] = files.flatMap((from) =>
  [...readFileSync(join(src, from), 'utf8').matchAll(STATEMENT)].map((m) => ({
    from,
    to: relative(src, resolve(src, dirname(from), m[1] ?? m[2] ?? '')),
  })),
);

/** Returns the most specific row of the table for a file. */
const rowOf = (file: string): string =>
  Object.keys(ALLOWED)
    .filter((row) => file === row || file.startsWith(`${row}/`))
    .sort((a, b) => b.length - a.length)[0] ?? '';

function refusal({ from, to }: Import): string | undefined {
  const row = rowOf(from);
  if (to.startsWith(`${row}/`)) return undefined;
  if (from === 'config.ts' && to.endsWith('/config.ts')) return undefined;
  const allowed = ALLOWED[row] ?? [];
  if (!allowed.some((a) => a === '*' || a === to || to.startsWith(`${a}/`))) return `may not import ${to}`;
  const area = to.split('/')[0] as string;
  const closed = to.includes('/') && !OPEN.includes(area) && !to.endsWith('/index.ts');
  return closed && !WIRING.includes(from) ? `enters ${dirname(to)} past its index.ts: ${to}` : undefined;
}

describe('the state of modules', () => {
  it('is declared by the module: no variable of the code stores it by platform', () => {
    const hidden = files.filter((file) =>
      /new WeakMap<Platform\b[^(]*\(\)/.test(readFileSync(join(src, file), 'utf8')),
    );
    expect(hidden).toEqual([]);
  });
});

describe('the borders of src/', () => {
  it('reads the imports of every file', () => {
    expect(files.length).toBeGreaterThan(300);
    expect(imports).toContainEqual({ from: 'service.ts', to: 'modules.ts' });
    expect(imports.some((i) => i.to.startsWith('..'))).toBe(false);
  });

  it('holds the code to the table', () => {
    expect(imports.flatMap((i) => (refusal(i) ? [`${i.from} ${refusal(i)}`] : []))).toEqual([]);
  });

  it.each<[string, string, boolean]>([
    ['kernel/clock.ts', 'kernel/ids.ts', true],
    ['kernel/clock.ts', 'storage/index.ts', false],
    ['storage/tables.ts', 'ledger/index.ts', false],
    ['ledger/ledger.ts', 'storage/index.ts', true],
    ['ledger/ledger.ts', 'storage/tables.ts', false],
    ['people/users/api.ts', 'people/sign-in/sign-up.ts', true],
    ['people/users/api.ts', 'authorization/agents/index.ts', false],
    ['activity/audit/api.ts', 'authorization/agents/index.ts', true],
    ['activity/audit/api.ts', 'authorization/agents/store.ts', false],
    ['activity/audit/api.ts', 'oauth/index.ts', false],
    ['mcp/guard/guard.ts', 'kernel/clock.ts', true],
    ['mcp/guard/guard.ts', 'mcp/servers/index.ts', false],
    ['mcp/guard/guard.ts', 'platform.ts', false],
    ['client/list.ts', 'client/errors.ts', true],
    ['client/list.ts', 'kernel/ids.ts', false],
    ['client.ts', 'kernel/ids.ts', false],
    ['verify/run.ts', 'kernel/ids.ts', false],
    ['agents-sdk/guard.ts', 'kernel/ids.ts', false],
    ['cli/tour/run.ts', 'client/index.ts', true],
    ['platform.ts', 'access/owners.ts', true],
    ['platform.ts', 'authorization/permissions/index.ts', false],
    ['platform.ts', 'people/users/index.ts', false],
    ['config.ts', 'oauth/config.ts', true],
    ['config.ts', 'oauth/index.ts', false],
    ['cli/tour/run.ts', 'kernel/ids.ts', false],
    ['cli/tour/run.ts', 'cli/log.ts', false],
    ['cli/tour/run.ts', 'cli/tour/steps.ts', true],
    ['attic/x.ts', 'kernel/ids.ts', false],
  ])('%s imports %s: %s', (from, to, may) => {
    expect(refusal({ from, to }) === undefined).toBe(may);
  });
});
