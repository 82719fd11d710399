import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

describe('the built console', () => {
  const folder = resolve(import.meta.dirname, '../../dist/console-assets');
  const chunks = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Record<
    string,
    { file: string; imports?: string[]; isEntry?: boolean; isDynamicEntry?: boolean }
  >;
  const kB = (name: string): number => statSync(join(folder, `${name}.gz`)).size / 1000;
  const withImports = (key: string, seen = new Set<string>()): Set<string> => {
    if (!seen.has(key)) for (const next of chunks[seen.add(key) && key]?.imports ?? []) withImports(next, seen);
    return seen;
  };

  it('stays within the limits of size for the shell, its style sheet and each further screen', () => {
    const entry = Object.keys(chunks).find((key) => chunks[key]?.isEntry) as string;
    const shell = withImports(entry);
    const size = (keys: Iterable<string>): number =>
      [...keys].reduce((sum, key) => sum + kB(chunks[key]?.file ?? ''), 0);
    expect(size(shell)).toBeLessThan(175);
    for (const [key, chunk] of Object.entries(chunks))
      if (chunk.isDynamicEntry)
        expect(size([...withImports(key)].filter((k) => !shell.has(k))), key).toBeLessThan(
          // This file contains the schema of the service, which the editor of permissions loads for its first check.
          key.endsWith('/permission-check.ts') ? 45 : 30,
        );
    const files = readdirSync(join(folder, 'assets'));
    const css = files.find((name) => name.endsWith('.css.gz')) as string;
    expect(kB(`assets/${css.slice(0, -3)}`)).toBeLessThan(14);
    expect(files.reduce((sum, name) => sum + statSync(join(folder, 'assets', name)).size, 0)).toBeLessThan(1_600_000);
  });
});
