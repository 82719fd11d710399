const MAX_RESOURCE_CHARS = 2048;

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * What is wrong with the address of a protected resource (RFC 8707, section 2), or undefined. It is compared and sent byte for
 * byte, so it has to be what a header can quote; plain http is for loopback only.
 */
export function resourceProblem(resource: string): string | undefined {
  if (resource.length > MAX_RESOURCE_CHARS) return `must be at most ${MAX_RESOURCE_CHARS} characters`;
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(resource) || !/^https?:\/\/[^/]/i.test(resource) || !URL.canParse(resource))
    return 'must be an absolute http or https address of ASCII characters';
  const url = new URL(resource);
  if (resource.includes('#')) return 'must not have a fragment';
  if (url.username !== '' || url.password !== '') return 'must not have a user or password';
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) return 'must be https, unless it is on loopback';
  return undefined;
}
