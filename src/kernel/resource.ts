const MAX_RESOURCE_CHARS = 2048;

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Returns what is wrong with a resource identifier (RFC 8707, section 2), or undefined. Identifiers are compared and
 * sent byte for byte, so they may only contain what a header can quote. Plain http is allowed on loopback only.
 */
export function resourceProblem(resource: string): string | undefined {
  if (resource.length > MAX_RESOURCE_CHARS) return `must be at most ${MAX_RESOURCE_CHARS} characters`;
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(resource) || !/^https?:\/\/[^/]/i.test(resource) || !URL.canParse(resource))
    return 'must be an absolute http or https URL of ASCII characters';
  const url = new URL(resource);
  if (resource.includes('#')) return 'must not have a fragment';
  if (url.username !== '' || url.password !== '') return 'must not have a user name or password';
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) return 'must be https, except on loopback';
  return undefined;
}
