/** The scope for refresh tokens (OpenID Connect Core, section 11). */
export const OFFLINE_ACCESS = 'offline_access';

const MAX_SCOPES = 100;
/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/;

/** Returns the valid scopes of several lists, each once, and at most 100. */
export const joinScopes = (...lists: readonly (readonly string[])[]): string[] =>
  [...new Set(lists.flat().filter((scope) => SCOPE.test(scope)))].slice(0, MAX_SCOPES);

/** Returns the scopes that a server names in a WWW-Authenticate header (RFC 6750, section 3). */
export const challengedScopes = (challenge: string): string[] =>
  joinScopes((/\bscope="([^"]*)"/i.exec(challenge)?.[1] ?? '').split(' '));
