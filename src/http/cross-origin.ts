/**
 * Endpoints that pages of other origins may call (Fetch standard, CORS).
 *
 * Pages of any origin: MCP clients in a browser read metadata, register and fetch tokens from their own origin. Never
 * with credentials, so the session cookie has no effect.
 *
 * Pages of a trusted origin (`http.trustedOrigins`): everything except the service's pages, with the session cookie.
 */
export type Reader = { readonly trusted: string } | 'anyone';

const EXPOSED = 'WWW-Authenticate, Retry-After, X-Request-ID';
const EXPOSED_TO_TRUSTED =
  `${EXPOSED}, Link, ETag, Legate-Total-Count, Content-Disposition, RateLimit, RateLimit-Policy, ` +
  'Idempotent-Replayed, Legate-Warning, Allow';
const ASKED_HEADERS = 'Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version';
const ASKED_BY_TRUSTED = `${ASKED_HEADERS}, X-Request-ID, If-Match, If-None-Match, Idempotency-Key`;
const PREFLIGHT_SECONDS = 7200;

/** The headers of an answer that lets these pages read it. */
export const headersFor = (reader: Reader): Record<string, string> =>
  reader === 'anyone'
    ? { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }
    : {
        'access-control-allow-origin': reader.trusted,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': EXPOSED_TO_TRUSTED,
      };

/** Returns the answer with CORS headers for these pages. */
export function readableBy(reader: Reader, response: Response): Response {
  for (const [name, value] of Object.entries(headersFor(reader))) response.headers.set(name, value);
  return response;
}

/** Answers a preflight request. */
export const preflight = (reader: Reader, methods: string): Response =>
  new Response(null, {
    status: 204,
    headers: {
      ...headersFor(reader),
      'access-control-allow-methods': methods,
      'access-control-allow-headers': reader === 'anyone' ? ASKED_HEADERS : ASKED_BY_TRUSTED,
      'access-control-max-age': String(PREFLIGHT_SECONDS),
      vary: 'Access-Control-Request-Headers',
    },
  });
