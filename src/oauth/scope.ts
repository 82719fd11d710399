import { SCOPE_NAMES } from '../access/scopes.ts';
import type { Permission } from '../authorization/permissions/index.ts';
import type { Platform } from '../platform.ts';
import type { Client } from './clients/client.ts';
import { OAuthErrors } from './errors.ts';

/** Asked for when a client names none and registered none. */
const DEFAULT_SCOPES: readonly string[] = ['mcp:read', 'mcp:execute'];
/** What an agent can ask for itself: the others stand for what people own. */
const AGENT_SCOPES: readonly string[] = DEFAULT_SCOPES;
const MAX_SCOPES = 50;

export const knownScopes = (platform: Platform): ReadonlySet<string> =>
  new Set([...SCOPE_NAMES, ...platform.config.mcp.extraScopes]);

export const scopeNames = (scope: string): string[] => [...new Set(scope.split(' ').filter((name) => name !== ''))];

/**
 * Scopes of a request (RFC 6749, section 3.3). Throws OAUTH_INVALID_SCOPE for one that is unknown, or that the client may not ask for.
 * What an administrator registered is a bound. What a client registered itself is what it asks for when it names nothing: clients
 * register what their first challenge named, and ask for more when a later one does (MCP 2026-07-28, step-up).
 */
export function askedScopes(
  platform: Platform,
  asked: string | undefined,
  client: Pick<Client, 'scope' | 'origin'>,
): string[] {
  const known = knownScopes(platform);
  const registered = client.scope?.filter((name) => known.has(name)) ?? [];
  if (asked === undefined || asked.trim() === '') return registered.length > 0 ? registered : [...DEFAULT_SCOPES];
  const names = scopeNames(asked);
  const wrong = names.find((name) => !known.has(name));
  if (wrong !== undefined || names.length > MAX_SCOPES)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({ message: `The scope ${wrong?.slice(0, 100) ?? 'list'} is not known.` });
  if (client.origin !== 'admin' || client.scope === null) return names;
  // offline_access stands for what every grant of a code has: a client need not have registered it (MCP 2026-07-28).
  const refused = names.find((name) => name !== 'offline_access' && !registered.includes(name));
  if (refused !== undefined)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({ message: `The client did not register the scope ${refused}.` });
  return names;
}

/** Scopes of an agent's own token. Throws OAUTH_INVALID_SCOPE. */
export function agentScopes(platform: Platform, asked: string | undefined): string[] {
  const allowed = [...AGENT_SCOPES, ...platform.config.mcp.extraScopes];
  if (asked === undefined || asked.trim() === '') return [...AGENT_SCOPES];
  const names = scopeNames(asked);
  const refused = names.find((name) => !allowed.includes(name));
  if (refused !== undefined)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({
      message: `An agent cannot have the scope ${refused.slice(0, 100)} of its own.`,
    });
  return names;
}

/** The narrower of what is held and what is asked; all that is held when nothing is asked. Throws OAUTH_INVALID_SCOPE for more. */
export function narrowScopes(held: readonly string[], asked: string | undefined): string[] {
  if (asked === undefined || asked.trim() === '') return [...held];
  const names = scopeNames(asked);
  const more = names.find((name) => !held.includes(name));
  if (more !== undefined)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({
      reason: 'scope-not-granted',
      message: `The scope ${more.slice(0, 100)} was not granted.`,
    });
  return names;
}

/**
 * What an agent that acts with these scopes is permitted (contract 12.3, `mcp.scopeActions`): actions on the tools of the server the
 * token is for, or of all servers when it is for our own resource.
 */
export function permissionsOfScopes(
  platform: Platform,
  scopes: readonly string[],
  server: string | undefined,
): Permission[] {
  const granted = platform.config.mcp.scopeActions.map((item) => item.split('=') as [scope: string, action: string]);
  const actions = [
    ...new Set(scopes.flatMap((name) => granted.filter(([scope]) => scope === name).map(([, action]) => action))),
  ];
  return actions.length === 0 ? [] : [{ resource: server === undefined ? 'mcp:*' : `mcp:${server}:*`, actions }];
}
