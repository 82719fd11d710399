/** `legate/node`: serves a `Legate` from a `node:http` server. */
export * from './http/node.ts';
