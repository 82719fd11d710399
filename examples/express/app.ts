import express from 'express';
import { createLegate } from 'legate';
import { nodeListener } from 'legate/node';

// The REST endpoints are under /legate. Everything else is configured by the environment (docs/config.md).
export const legate = await createLegate({ http: { restPath: '/legate' } });

export const app = express();
// This comes before any body parser, because Legate reads bodies itself. `all` leaves the path complete, whereas
// `use('/legate', ...)` would remove its beginning.
app.all('/legate/*path', nodeListener(legate));
app.use(express.json());
app.get('/', (_request, response) => {
  response.send('the application itself');
});
