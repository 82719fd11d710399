/** Scopes with which a client can change what agents may do. The page never ticks them for the person. */
const SENSITIVE: ReadonlySet<string> = new Set(['agents:write', 'delegations:write']);

export const isSensitive = (scope: string): boolean => SENSITIVE.has(scope);

/** Headings of the consent page, in order. */
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

/** Groups scopes by heading, sensitive ones last. Omits empty groups. */
export function groupScopes(scopes: readonly string[]): { group: ScopeGroup; scopes: string[] }[] {
  const groupOf = (scope: string): ScopeGroup => GROUP_OF[scope.split(':')[0] as string] ?? 'other';
  return SCOPE_GROUPS.map((group) => ({
    group,
    scopes: scopes
      .filter((scope) => groupOf(scope) === group)
      .sort((a, b) => Number(isSensitive(a)) - Number(isSensitive(b))),
  })).filter((part) => part.scopes.length > 0);
}
