const MAX_CHARS = 2048;
const LOOPBACK_HOSTS = new Set(['127.0.0.1', '[::1]', 'localhost']);
/** Schemes that run code in the page or read local content. */
const FORBIDDEN_SCHEMES = new Set([
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

/**
 * Returns why a redirect URI cannot be registered (RFC 6749, section 3.1.2; RFC 8252, sections 7 and 8), or undefined.
 */
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
  if (FORBIDDEN_SCHEMES.has(url.protocol)) return 'must not have this scheme';
  if (url.username !== '' || url.password !== '') return 'must not have a user name or password';
  if (url.host.includes('*')) return 'must name one host, without wildcards';
  if (/[^a-z0-9._:[\]-]/i.test(url.host)) return 'must name a host of letters, digits, "-", "_" and "."';
  if (url.protocol === 'https:') return /^https:\/\/[^/?#]/i.test(uri) ? undefined : 'must name a host';
  if (url.protocol === 'http:')
    return LOOPBACK_HOSTS.has(url.hostname) && /^http:\/\/[^/?#]/i.test(uri)
      ? undefined
      : 'must be https unless the host is loopback';
  return undefined;
}

/** Returns whether the URI is http on a loopback host. */
export function isLoopback(uri: string): boolean {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  return url?.protocol === 'http:' && LOOPBACK_HOSTS.has(url.hostname);
}

/** Returns the host of a redirect URI, or its scheme if an application defined it, to show to a person. */
export function redirectHost(uri: string): string {
  const url = new URL(uri);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.host : url.protocol;
}

const LOOPBACK_ORIGIN = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/i;

/** Compares exactly, except that the port of an http loopback URI may differ (RFC 8252, section 7.3). */
export function matchesRedirectUri(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  if (!isLoopback(registered) || redirectUriProblem(requested) !== undefined || !isLoopback(requested)) return false;
  return (
    LOOPBACK_ORIGIN.test(registered) &&
    LOOPBACK_ORIGIN.test(requested) &&
    registered.replace(LOOPBACK_ORIGIN, '$1') === requested.replace(LOOPBACK_ORIGIN, '$1')
  );
}

/** Appends query parameters. The existing part of the URI stays byte for byte. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${query}`;
}
