const EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** One year, the least that OWASP ASVS 3.4.1 asks for. Subdomains are for the proxy to decide: they may be of others. */
const HSTS = { 'strict-transport-security': 'max-age=31536000' } as const;

/**
 * On every answer, unless it has a value of its own, as pages have: nothing that is answered runs, is framed, or is loaded
 * by pages of other sites (OWASP ASVS 3.4). CORS, where a route has it, is not concerned.
 */
export const securityHeaders = (baseUrl: string): Readonly<Record<string, string>> =>
  baseUrl.startsWith('https:') ? { ...EVERYWHERE, ...HSTS } : EVERYWHERE;
