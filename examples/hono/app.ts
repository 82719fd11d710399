import { Hono } from 'hono';
import { createLegate, honoLegate } from 'legate';

// The REST endpoints are under /legate. Everything else is configured by the environment (docs/config.md).
export const legate = await createLegate({ http: { restPath: '/legate' } });

export const app = new Hono();
// Answers at /legate/*, /api/legate/* and /.well-known/*, and passes all other requests on. On @hono/node-server it
// knows the address of the client.
app.use(honoLegate(legate));
app.get('/', (c) => c.text('the application itself'));
