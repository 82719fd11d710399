import { createLegate } from 'legate';

/**
 * One service for the whole application. Everything else is configured by the environment (docs/config.md). Next.js
 * gives a handler no client address. http.clientAddressHeader names the header in which a proxy passes it on.
 */
export const legate = await createLegate({ http: { restPath: '/legate' } });
