/**
 * Building blocks for all areas: clock, ids, errors, JSON, secrets, encryption, options, batches.
 *
 * Guarantees: nothing here depends on the domain, the database or HTTP, or imports another area. Secrets are compared
 * in constant time; encrypted values name their key.
 *
 * `protocol/` has what the guard of MCP servers shares with the service: the wire format of introspection and
 * authorization. Files are imported one by one; there are no exports here.
 */
export {};
