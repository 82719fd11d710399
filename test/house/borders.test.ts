import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../../src');

const BELOW_MODULES = ['kernel', 'storage', 'ledger', 'access', 'http', 'platform.ts'];
const BELOW_FEATURES = [...BELOW_MODULES, 'operations', 'authorization', 'people'];

/**
 * For each place, the imports that its files may have from elsewhere; the most specific place counts. All imports point
 * from the wiring down to the kernel. Any file of an area in OPEN may be imported; of other areas, only the `index.ts`
 * of a module.
 */
const TABLE: readonly (readonly [places: readonly string[], allowed: readonly string[]])[] = [
  [['kernel'], []],
  [['storage'], ['kernel']],
  [['access'], ['kernel', 'storage']],
  [['ledger'], ['kernel', 'storage', 'access']],
  [['pages'], ['kernel', 'access']],
  [['platform'], ['kernel', 'storage', 'ledger', 'access']],
  [['http'], ['kernel', 'storage', 'ledger', 'access', 'pages', 'platform', 'platform.ts']],
  [
    ['operations', 'authorization'],
    [...BELOW_MODULES, 'pages', 'platform'],
  ],
  [['people'], [...BELOW_MODULES, 'pages', 'platform', 'operations']],
  [['mcp'], [...BELOW_FEATURES, 'pages']],
  [['activity'], [...BELOW_FEATURES, 'platform', 'verify']],
  [['oauth'], [...BELOW_FEATURES, 'pages', 'platform', 'mcp']],
  [['console'], ['kernel', 'pages', 'platform.ts']],
  // These parts are used by the service and know nothing of it. The guard of MCP servers is also published separately.
  [['operations/mail', 'operations/outbound', 'mcp/guard'], ['kernel']],
  // The client runs anywhere, the verifier runs alone, and the doctor tests any server over HTTP.
  [['client', 'verify', 'agents-sdk', 'cli/doctor'], []],
  // A witness is independent of the ledger, so it shares code with the verifier but not with the seal.
  [['witness'], ['storage', 'verify']],
  // The tour uses a service over HTTP, like any client.
  [['cli/tour', 'client.ts'], ['client']],
  [['verify.ts'], ['verify']],
  [['agents.ts'], ['agents-sdk']],
  [['node.ts'], ['http']],
  [['mcp.ts'], ['mcp']],
  [['config.ts'], ['kernel', 'http', '*/config.ts']],
  [['platform.ts'], ['kernel', 'storage', 'ledger', 'access', 'platform', 'config.ts']],
  [['module-states.ts'], ['platform.ts']],
  [['cli.ts'], ['cli', 'kernel']],
  [['cli', 'index.ts', 'modules.ts', 'service.ts', 'api.ts', 'upkeep.ts'], ['*']],
];
const OPEN = ['kernel', 'access', 'platform', 'http', 'cli'];
/** Files that wire modules together may import any file. */
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

const isIn = (file: string, place: string): boolean =>
  place === '*' ||
  file === place ||
  file.startsWith(`${place}/`) ||
  (place === '*/config.ts' && file.endsWith('/config.ts'));

/** Returns the most specific place of the table for a file, and its row. */
const rowOf = (file: string): { place: string; allowed: readonly string[] } | undefined =>
  TABLE.flatMap(([places, allowed]) => places.map((place) => ({ place, allowed })))
    .filter(({ place }) => isIn(file, place))
    .sort((a, b) => b.place.length - a.place.length)[0];

function refusal({ from, to }: Import): string | undefined {
  const row = rowOf(from);
  if (row && isIn(to, row.place)) return undefined;
  const by = row?.allowed.find((place) => isIn(to, place));
  if (by === undefined) return `may not import ${to}`;
  const closed = to.includes('/') && !OPEN.includes(to.split('/')[0] as string) && !to.endsWith('/index.ts');
  return closed && by !== '*/config.ts' && !WIRING.includes(from)
    ? `enters ${dirname(to)} past its index.ts: ${to}`
    : undefined;
}

describe('the state of a module', () => {
  it('is declared by the module: no variable stores it by platform', () => {
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

  it('permits only the imports in the table', () => {
    expect(imports.flatMap((i) => (refusal(i) ? [`${i.from} ${refusal(i)}`] : []))).toEqual([]);
  });

  it('has no area that imports one above it', () => {
    const areaOf = (file: string): string => file.split('/')[0] as string;
    const edges = new Map<string, Set<string>>();
    // config.ts puts together the options that modules declare.
    for (const { from, to } of imports)
      if (areaOf(from) !== areaOf(to) && from !== 'config.ts')
        edges.set(areaOf(from), (edges.get(areaOf(from)) ?? new Set()).add(areaOf(to)));
    // Repeatedly removes areas that import no remaining area. Only cycles are left.
    for (let again = true; again; ) {
      again = false;
      for (const [area, targets] of edges) {
        for (const target of targets) if (!edges.has(target)) targets.delete(target);
        if (targets.size === 0) again = edges.delete(area);
      }
    }
    expect(Object.fromEntries([...edges].map(([area, targets]) => [area, [...targets]]))).toEqual({});
  });

  it('has no entry without an import', () => {
    const placed = imports.map(({ from, to }) => ({ from: rowOf(from)?.place ?? '', to }));
    const used = (places: readonly string[], place: string): boolean =>
      placed.some(({ from, to }) => places.includes(from) && isIn(to, place));
    expect(
      TABLE.flatMap(([places, allowed]) =>
        allowed.filter((place) => !used(places, place)).map((place) => `${places.join(', ')}: ${place}`),
      ),
    ).toEqual([]);
  });

  it.each(TABLE.filter(([, allowed]) => !allowed.includes('*')).flatMap(([places]) => places))(
    'refuses an import that the row of %s does not name',
    (place) => {
      const from = place.endsWith('.ts') ? place : `${place}/file.ts`;
      expect(['cli/serve.ts', 'upkeep.ts'].filter((to) => refusal({ from, to }) === undefined)).toEqual(
        place === 'cli.ts' ? ['cli/serve.ts'] : [],
      );
    },
  );

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
    ['platform.ts', 'access/caller.ts', true],
    ['access/caller.ts', 'platform.ts', false],
    ['operations/mail/send.ts', 'storage/index.ts', false],
    ['witness/server.ts', 'ledger/index.ts', false],
    ['config.ts', 'operations/mail/config.ts', true],
    ['platform.ts', 'authorization/permissions/index.ts', false],
    ['platform.ts', 'platform/route.ts', true],
    ['platform.ts', 'http/pipeline.ts', false],
    ['platform/route.ts', 'http/pipeline.ts', false],
    ['platform.ts', 'operations/mail/index.ts', false],
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
