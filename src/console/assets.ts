import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { findBuiltAssets } from '../kernel/built-assets.ts';

/** The files that the page of the console loads, below `/console/`. */
export interface Entry {
  readonly script: string;
  readonly styles: readonly string[];
  readonly icon: string;
}

interface Assets {
  readonly folder: string;
  readonly entry: Entry;
  /** Names of all files in `assets/`. Text is there as `.gz` and `.br` only. */
  readonly names: ReadonlySet<string>;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  woff2: 'font/woff2',
  svg: 'image/svg+xml',
};

let assets: Assets | undefined;

/** Returns the built console; undefined if it has not been built. */
export function findAssets(): Assets | undefined {
  if (assets) return assets;
  const built = findBuiltAssets();
  if (!built) return undefined;
  const { folder, manifest } = built;
  const entry = Object.values(manifest).find((chunk) => chunk.isEntry);
  if (!entry) return undefined;
  const styles = Object.values(manifest).flatMap(({ file, css }) => [
    ...(css ?? []),
    ...(file.endsWith('.css') ? [file] : []),
  ]);
  const names = readdirSync(join(folder, 'assets'));
  const icon = `assets/${names.find((name) => name.endsWith('.svg.gz'))?.slice(0, -3)}`;
  assets = { folder, entry: { script: entry.file, styles: [...new Set(styles)], icon }, names: new Set(names) };
  return assets;
}

/** Returns a file of the built console, compressed as the client accepts it; undefined: there is none by this name. */
export async function assetResponse(name: string, acceptEncoding: string | null): Promise<Response | undefined> {
  const built = findAssets();
  const type = TYPES[name.split('.').at(-1) ?? ''];
  if (!built || type === undefined) return undefined;
  const isPacked = built.names.has(`${name}.gz`);
  if (!isPacked && !built.names.has(name)) return undefined;
  const accepted = (acceptEncoding ?? '').split(',').map((item) => item.trim().split(';')[0]);
  const encoding = isPacked ? (['br', 'gzip'] as const).find((e) => accepted.includes(e)) : undefined;
  const file = isPacked ? `${name}.${encoding === 'br' ? 'br' : 'gz'}` : name;
  const stored = await readFile(join(built.folder, 'assets', file));
  // Every browser takes one of the two; other clients may not.
  const content = isPacked && encoding === undefined ? await promisify(gunzip)(stored) : stored;
  return new Response(new Uint8Array(content), {
    headers: {
      'content-type': type,
      // The name of a file contains a hash of its content.
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
      ...(encoding && { 'content-encoding': encoding }),
    },
  });
}
