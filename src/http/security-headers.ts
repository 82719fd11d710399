const EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** One year, the minimum of OWASP ASVS 3.4.1. Without subdomains, which may belong to others. */
const HSTS = { 'strict-transport-security': 'max-age=31536000' } as const;

/**
 * Returns headers for every answer that does not set its own, as pages do: no answer is executed, framed, or loaded by
 * pages of other sites (OWASP ASVS 3.4). CORS is not affected.
 */
export const securityHeaders = (baseUrl: string): Readonly<Record<string, string>> =>
  baseUrl.startsWith('https:') ? { ...EVERYWHERE, ...HSTS } : EVERYWHERE;
