/**
 * The client of the HTTP API (contract 18), published as `legate/client`.
 *
 * It runs on `fetch` alone and imports nothing of the service. `endpoints.ts` and `types.ts` are generated from the
 * declarations of the routes by `npm run docs`: the first is the table that drives the client, the second has its
 * types. An answer that refuses a decision is a value; every other refusal is a `LegateError`.
 */
export { LegateClient, type LegateClientOptions } from './client.ts';
export { DeniedError, LegateError } from './errors.ts';
export type { List, Page } from './list.ts';
export { etagOf } from './request.ts';
export type { RequestOptions } from './request-options.ts';
export type { EventStream, StreamNotice, StreamOptions } from './stream.ts';
export type * from './types.ts';
