import { createLegate, type Legate } from 'legate';

// Next.js can load a module several times, and `next build` loads it too. One service is created, by the first request.
const shared = globalThis as { legate?: Promise<Legate> | undefined };

/**
 * The service of the application. Everything else is configured by the environment (docs/config.md). Next.js gives a
 * handler no client address. http.clientAddressHeader names the header in which a proxy passes it on.
 */
export const legate = (): Promise<Legate> =>
  (shared.legate ??= createLegate({ http: { restPath: '/legate' } }).catch((error: unknown) => {
    // The next request tries again, for example when the database can be reached.
    shared.legate = undefined;
    throw error;
  }));

const handler = async (request: Request): Promise<Response> => {
  // Next.js drops the header content-encoding of a handler's response, so the body must not be compressed.
  const plain = new Request(request);
  plain.headers.delete('accept-encoding');
  return (await legate()).fetch(plain);
};

export {
  handler as DELETE,
  handler as GET,
  handler as HEAD,
  handler as OPTIONS,
  handler as PATCH,
  handler as POST,
  handler as PUT,
};
