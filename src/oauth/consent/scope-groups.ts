/** Scopes with which a client changes what agents may do. A person has to tick them; nothing else does. */
const SENSITIVE: ReadonlySet<string> = new Set(['agents:write', 'delegations:write']);

export const isSensitive = (scope: string): boolean => SENSITIVE.has(scope);

/** The headings under which scopes are shown, in their order. */
export const SCOPE_GROUPS = ['tools', 'agents', 'records', 'other'] as const;
export type ScopeGroup = (typeof SCOPE_GROUPS)[number];

const GROUP_OF: Readonly<Record<string, ScopeGroup>> = {
  mcp: 'tools',
  agents: 'agents',
  delegations: 'agents',
  authorize: 'agents',
  audit: 'records',
  events: 'records',
};

/** The scopes of a request by group, sensitive ones last in theirs. Groups without a scope are left out. */
export function groupScopes(scopes: readonly string[]): { group: ScopeGroup; scopes: string[] }[] {
  const of = (scope: string): ScopeGroup => GROUP_OF[scope.split(':')[0] as string] ?? 'other';
  return SCOPE_GROUPS.map((group) => ({
    group,
    scopes: scopes
      .filter((scope) => of(scope) === group)
      .sort((a, b) => Number(isSensitive(a)) - Number(isSensitive(b))),
  })).filter((part) => part.scopes.length > 0);
}
