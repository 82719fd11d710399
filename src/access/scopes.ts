/** Every scope that a credential can be narrowed to (contract 4). */
export const SCOPES = {
  'agents:read': 'Read agents and what they may do.',
  'agents:write': 'Register, change, rotate and revoke agents.',
  'delegations:read': 'Read delegations.',
  'delegations:write': 'Delegate permissions and revoke delegations.',
  'audit:read': 'Read and export audit entries and statistics.',
  'events:read': 'Follow the event stream.',
  authorize: 'Ask for decisions.',
  'mcp:read': 'Read from MCP servers.',
  'mcp:execute': 'Call tools of MCP servers.',
  offline_access: 'Stay connected while the person is away.',
} as const;

export type Scope = keyof typeof SCOPES;

/** Scope of API tokens only, which no client can request: manages users by SCIM (contract 23.7). */
export const SCIM_SCOPE = 'scim';

export const SCOPE_NAMES = Object.keys(SCOPES) as [Scope, ...Scope[]];
