const MAX_DECODINGS = 3;

/** Normalises a path: lower case, single slashes, no trailing slash. */
export const simplest = (path: string): string =>
  path.toLowerCase().replaceAll('\\', '/').replace(/\/+/g, '/').replace(/\/$/, '');

/**
 * Returns every path that a router may read in a target: decoded or not, dot segments resolved or not, with or without
 * parameters.
 */
export function readings(target: string): string[] {
  const found = new Set<string>();
  let path = target.replace(/[?#].*/s, '');
  for (let i = 0; i <= MAX_DECODINGS; i++) {
    for (const variant of [path, path.replace(/;[^/]*/g, ''), path.replace(/[?#].*/s, '')]) {
      found.add(simplest(variant));
      found.add(simplest(withoutDots(variant)));
    }
    const decoded = path.replace(/%[0-9a-f]{2}/gi, (octet) => String.fromCharCode(Number.parseInt(octet.slice(1), 16)));
    if (decoded === path) break;
    path = decoded;
  }
  return [...found];
}

function withoutDots(path: string): string {
  const out: string[] = [];
  for (const segment of path.replaceAll('\\', '/').split('/')) {
    if (segment === '..') out.pop();
    else if (segment !== '.') out.push(segment);
  }
  return `/${out.filter((segment) => segment !== '').join('/')}`;
}
