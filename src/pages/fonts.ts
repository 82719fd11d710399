import { findBuiltAssets } from '../kernel/built-assets.ts';
import { pathOf, type Site } from './site.ts';

const LATIN =
  'U+0-FF,U+131,U+152-153,U+2BB-2BC,U+2C6,U+2DA,U+2DC,U+304,U+308,U+329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,' +
  'U+2212,U+2215,U+FEFF,U+FFFD';
const LATIN_EXT =
  'U+100-2BA,U+2BD-2C5,U+2C7-2CC,U+2CE-2D7,U+2DD-2FF,U+1D00-1DBF,U+1E00-1E9F,U+1EF2-1EFF,U+2020,U+20A0-20AB,' +
  'U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF';
const FAMILIES = { 'ibm-plex-sans': 'Plex', 'source-serif-4': 'Source', 'jetbrains-mono': 'Mono' } as const;

let found: readonly { readonly family: string; readonly range: string; readonly file: string }[] | undefined;

/** Returns the faces of the console's fonts as CSS. Empty if the console has not been built. */
export function fontFaces(site: Site): string {
  found ??= facesOf(Object.entries(findBuiltAssets()?.manifest ?? {}));
  return found
    .map(
      ({ family, range, file }) =>
        `@font-face{font-family:${family};font-weight:200 800;font-display:swap;` +
        `src:url(${pathOf(site, `/console/${file}`)}) format("woff2");unicode-range:${range}}`,
    )
    .join('\n');
}

function facesOf(entries: readonly (readonly [string, { readonly file: string }])[]) {
  return entries.flatMap(([source, { file }]) => {
    const [, name = '', ext] = /\/([a-z0-9-]+?)-latin(-ext)?-wght-normal\.woff2$/.exec(source) ?? [];
    const family = FAMILIES[name as keyof typeof FAMILIES];
    return family ? [{ family, range: ext ? LATIN_EXT : LATIN, file }] : [];
  });
}
