import express from 'express';
import { createLegate } from 'legate';
import { nodeListener } from 'legate/node';

// The REST endpoints live under /legate; everything else is configured by the environment (docs/config.md).
export const legate = await createLegate({ http: { restPath: '/legate' } });

export const app = express();
// Before any body parser: Legate reads bodies itself. `all` leaves the path whole, where `use('/legate', ...)` would
// cut it.
app.all('/legate/*path', nodeListener(legate));
app.use(express.json());
app.get('/', (_request, response) => {
  response.send('the application itself');
});
