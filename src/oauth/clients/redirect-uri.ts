const MAX_CHARS = 2048;
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);
/** Schemes that run in the page, or read what is not the client's. */
const NEVER = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'file:',
  'blob:',
  'about:',
  'ws:',
  'wss:',
  'ftp:',
  'view-source:',
  'filesystem:',
]);

/** What is wrong with a redirect URI of a registration, or undefined (RFC 6749, section 3.1.2; RFC 8252, sections 7 and 8; OAuth 2.1). */
export function redirectUriProblem(uri: string): string | undefined {
  if (uri.length > MAX_CHARS) return `must be at most ${MAX_CHARS} characters`;
  if (
    !/^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/.test(uri) ||
    !/^[a-z][a-z0-9+.-]*:/i.test(uri) ||
    !URL.canParse(uri)
  )
    return 'must be an absolute URI';
  if (uri.includes('#')) return 'must not have a fragment';
  const url = new URL(uri);
  if (NEVER.has(url.protocol)) return 'must not have this scheme';
  if (url.username !== '' || url.password !== '') return 'must not have a user or password';
  if (url.host.includes('*')) return 'must name one host: it is compared, not matched';
  if (/[^a-z0-9._:[\]-]/i.test(url.host)) return 'must name a host of letters, digits, "-", "_" and "."';
  if (url.protocol === 'https:') return /^https:\/\/[^/?#]/i.test(uri) ? undefined : 'must name a host';
  if (url.protocol === 'http:')
    return LOOPBACK.has(url.hostname) && /^http:\/\/[^/?#]/i.test(uri)
      ? undefined
      : 'must be https, unless it is on loopback';
  return undefined;
}

/** http on this very machine. */
export function isLoopback(uri: string): boolean {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  return url?.protocol === 'http:' && LOOPBACK.has(url.hostname);
}

/** Where a redirect URI leads, as a person can judge it: its host, or the scheme of an application's own. */
export function redirectHost(uri: string): string {
  const url = new URL(uri);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.host : url.protocol;
}

const PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/i;

/** The same string; for http on loopback the port may differ, and nothing else (RFC 8252, section 7.3). */
export function matchesRedirectUri(registered: string, asked: string): boolean {
  if (registered === asked) return true;
  if (!isLoopback(registered) || redirectUriProblem(asked) !== undefined || !isLoopback(asked)) return false;
  return PORT.test(registered) && PORT.test(asked) && registered.replace(PORT, '$1') === asked.replace(PORT, '$1');
}

/** The address with further query parameters; what it has stays as it is. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${query}`;
}
