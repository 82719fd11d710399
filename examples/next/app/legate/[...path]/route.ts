import { createLegate } from 'legate';

// The folder is the mount: app/legate/[...path]/route.ts serves /legate/*. Everything else is configured by the
// environment (docs/config.md). Next.js gives a handler no client address. http.clientAddressHeader names the header in
// which a proxy passes it on.
const legate = await createLegate({ http: { restPath: '/legate' } });

const handler = (request: Request): Promise<Response> => legate.fetch(request);

export { handler as DELETE, handler as GET, handler as HEAD, handler as PATCH, handler as POST, handler as PUT };
