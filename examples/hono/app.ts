import { Hono } from 'hono';
import { createLegate } from 'legate';

// The REST endpoints are under /legate. Everything else is configured by the environment (docs/config.md).
export const legate = await createLegate({ http: { restPath: '/legate' } });

type Env = { Bindings: { incoming?: { socket: { remoteAddress?: string } } } };

export const app = new Hono<Env>();
app.get('/', (c) => c.text('the application itself'));
// On @hono/node-server, `c.env.incoming` is Node's request. It knows the address of the peer, which a Request does not.
app.all('/legate/*', (c) => legate.fetch(c.req.raw, { remoteAddress: c.env?.incoming?.socket.remoteAddress }));
