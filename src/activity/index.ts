/**
 * Readers and followers of the ledger, for people and programs. Each folder is a module with its own `index.ts`.
 *
 * `audit/` searches and exports decisions, `changes/` and `names/` show the history and the names of objects, `stream/`
 * and `webhooks/` deliver events, `costs/`, `anomalies/` and `dashboard/` count, `seal/` makes the ledger verifiable.
 *
 * Guarantees: a principal sees exactly its own rows; followers continue where they stopped, on any instance. Recording
 * is in `ledger`.
 */
export {};
