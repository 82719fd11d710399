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
  readonly entry: Entry;
  /** All files in `assets/`, by name. Text is there as `.gz` and `.br` only. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  woff2: 'font/woff2',
  svg: 'image/svg+xml',
};

/** A weight of 0 (RFC 9110, section 12.4.2). */
const NOT_ACCEPTED = /;\s*q=0(\.0*)?\s*$/i;

let assets: Assets | undefined;

/** Returns the built console; undefined if it has not been built. */
export function findAssets(): Assets | undefined {
  if (assets) return assets;
  const built = findBuiltAssets();
  if (!built) return undefined;
  const { manifest, files } = built;
  const entry = Object.values(manifest).find((chunk) => chunk.isEntry);
  if (!entry) return undefined;
  const styles = Object.values(manifest).flatMap(({ file, css }) => [
    ...(css ?? []),
    ...(file.endsWith('.css') ? [file] : []),
  ]);
  const icon = `assets/${[...files.keys()].find((name) => name.endsWith('.svg.gz'))?.slice(0, -3)}`;
  assets = { entry: { script: entry.file, styles: [...new Set(styles)], icon }, files };
  return assets;
}

/** Returns the content coding of a stored file that a client accepts (RFC 9110, section 12.5.3); undefined: none. */
export function contentCodingFor(acceptEncoding: string | null): 'br' | 'gzip' | undefined {
  const accepted = (acceptEncoding ?? '')
    .split(',')
    .filter((item) => !NOT_ACCEPTED.test(item))
    .map((item) => item.trim().split(/[\s;]/)[0]?.toLowerCase());
  return (['br', 'gzip'] as const).find((coding) => accepted.includes(coding));
}

/** Returns a file of the built console, compressed as the client accepts it; undefined: there is none by this name. */
export async function assetResponse(name: string, acceptEncoding: string | null): Promise<Response | undefined> {
  const built = findAssets();
  const type = TYPES[name.split('.').at(-1) ?? ''];
  if (!built || type === undefined) return undefined;
  const isPacked = built.files.has(`${name}.gz`);
  const encoding = isPacked ? contentCodingFor(acceptEncoding) : undefined;
  const stored = built.files.get(isPacked ? `${name}.${encoding === 'br' ? 'br' : 'gz'}` : name);
  if (!stored) return undefined;
  // Every browser takes one of the two; other clients may not.
  const content = isPacked && encoding === undefined ? await promisify(gunzip)(stored) : stored;
  return new Response(content, {
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
