/** `legate/client`: a client of the HTTP API without dependencies, for Node, browsers and workers. */
export * from './client/index.ts';
