/**
 * What has happened, for people and programs that look at it: readers and followers of the ledger. Each folder is a
 * module with exports of its own.
 *
 * `audit/` searches and exports decisions, `changes/` and `names/` show the history and the names of things, `stream/`
 * and `webhooks/` deliver events, `costs/`, `anomalies/` and `dashboard/` count, `seal/` makes the ledger provable.
 *
 * Guarantees: a principal sees exactly its own rows; followers continue where they stopped, on any instance. What is
 * recorded, and when, is decided in `ledger`.
 */
export {};
