/**
 * Parameters of the WWW-Authenticate header of a protected resource: RFC 6750, section 3, with `resource_metadata` of
 * RFC 9728, section 5.1. `issuer` and `resource` repeat values of the metadata; clients ignore unknown parameters (RFC
 * 9110, section 11.2).
 */
export interface BearerChallenge {
  /** Absent when no credential was sent (RFC 6750, section 3.1). */
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope' | undefined;
  readonly errorDescription?: string | undefined;
  /** All scopes that the request needs. */
  readonly scope?: readonly string[] | undefined;
  readonly issuer: string;
  readonly resource: string;
  readonly resourceMetadata: string;
}

/** Formats the header, with every parameter quoted. */
export function bearerChallenge(c: BearerChallenge): string {
  const parameters: [name: string, value: string | undefined][] = [
    ['error', c.error],
    ['error_description', c.error === undefined ? undefined : c.errorDescription],
    ['scope', c.scope && c.scope.length > 0 ? c.scope.join(' ') : undefined],
    ['issuer', c.issuer],
    ['resource', c.resource],
    ['resource_metadata', c.resourceMetadata],
  ];
  return `Bearer ${parameters
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${quotable(value)}"`]))
    .join(', ')}`;
}

/**
 * Replaces characters that RFC 6750, section 3, does not allow between quotes: all but printable ASCII, quotes and
 * backslashes.
 */
const quotable = (value: string): string => value.replace(/[^\x20-\x7e]|["\\]/g, ' ');
