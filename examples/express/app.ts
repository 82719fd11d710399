import express from 'express';
import { createLegate, expressLegate } from 'legate';

// The REST endpoints are under /legate. Everything else is configured by the environment (docs/config.md).
export const legate = await createLegate({ http: { restPath: '/legate' } });

export const app = express();
// Answers at /legate/*, /api/legate/* and /.well-known/*, and passes all other requests on. It comes before any body
// parser, because Legate reads bodies itself.
app.use(expressLegate(legate));
app.use(express.json());
app.get('/', (_request, response) => {
  response.send('the application itself');
});
