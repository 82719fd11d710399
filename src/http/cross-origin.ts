/**
 * For pages of any origin: MCP clients that run in a browser read metadata, register and fetch tokens from wherever they are
 * served. Never with credentials, so a cookie of ours opens nothing to them.
 */
const ALLOWED = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
} as const;

const ALLOWED_REQUEST_HEADERS = 'Authorization, Content-Type, MCP-Protocol-Version';
const PREFLIGHT_SECONDS = 7200;

/** The same answer, readable from every origin. */
export function readableFromEverywhere(response: Response): Response {
  for (const [name, value] of Object.entries(ALLOWED)) response.headers.set(name, value);
  return response;
}

/** Answer to a preflight request. */
export const preflight = (methods: string): Response =>
  new Response(null, {
    status: 204,
    headers: {
      ...ALLOWED,
      'access-control-allow-methods': methods,
      'access-control-allow-headers': ALLOWED_REQUEST_HEADERS,
      'access-control-max-age': String(PREFLIGHT_SECONDS),
      vary: 'Access-Control-Request-Headers',
    },
  });
