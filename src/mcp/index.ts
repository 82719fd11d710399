/**
 * What MCP servers and their clients use. Each folder is a module with exports of its own.
 *
 * `servers/` has the registered servers, which are resources that tokens are issued for, `guard/` is published as
 * `legate/mcp` and protects a server with this service, `gateway/` is a proxy in front of servers that stay as they
 * are.
 *
 * Guarantees: a call is passed on only after its decision is recorded; a credential of a person for a server never
 * reaches an agent. Tokens themselves are issued in `oauth`.
 */
export {};
