/**
 * Services for MCP servers and their clients. Each folder is a module with its own `index.ts`.
 *
 * `servers/` has the registered servers, which are resources for which tokens are issued, `guard/` is published as
 * `legate/mcp` and protects a server with this service, `gateway/` is a proxy in front of unmodified servers.
 *
 * Guarantees: a call is passed on only after its decision is recorded; a credential of a person for a server never
 * reaches an agent. Tokens themselves are issued in `oauth`.
 */
export {};
