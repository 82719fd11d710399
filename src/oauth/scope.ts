import { SCOPE_NAMES } from '../access/scopes.ts';
import type { Permission } from '../authorization/permissions/index.ts';
import type { Platform } from '../platform.ts';
import type { Client } from './clients/client.ts';
import { OAuthErrors } from './errors.ts';

/** Scopes for a request that names none, from a client that registered none. */
const DEFAULT_SCOPES: readonly string[] = ['mcp:read', 'mcp:execute'];
/**
 * Scopes that an agent can request for itself. The others give access to a person's data, which only that person can
 * grant.
 */
const AGENT_SCOPES: readonly string[] = DEFAULT_SCOPES;
const MAX_SCOPES = 50;

export const knownScopes = ({ config }: Pick<Platform, 'config'>): ReadonlySet<string> =>
  new Set([...SCOPE_NAMES, ...config.mcp.extraScopes]);

export const scopeNames = (scope: string): string[] => [...new Set(scope.split(' ').filter((name) => name !== ''))];

/**
 * Returns the scopes that a request asks for (RFC 6749, section 3.3). Throws OAUTH_INVALID_SCOPE if one is unknown or
 * the client may not request it. Scopes that an administrator registered are an upper bound. Scopes that a client
 * registered itself are only its default: clients register the scopes of their first challenge and request more after a
 * later one (MCP 2026-07-28, step-up).
 */
export function requestedScopes(
  platform: Pick<Platform, 'config'>,
  requested: string | undefined,
  client: Pick<Client, 'scope' | 'origin'>,
): string[] {
  const known = knownScopes(platform);
  const registered = client.scope?.filter((name) => known.has(name)) ?? [];
  if (requested === undefined || requested.trim() === '')
    return registered.length > 0 ? registered : [...DEFAULT_SCOPES];
  const names = scopeNames(requested);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined || names.length > MAX_SCOPES)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({ message: `The scope ${unknown?.slice(0, 100) ?? 'list'} is unknown.` });
  if (client.origin !== 'admin' || client.scope === null) return names;
  // Every grant from a code includes refresh tokens, so clients need not register offline_access (MCP 2026-07-28).
  const refused = names.find((name) => name !== 'offline_access' && !registered.includes(name));
  if (refused !== undefined)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({ message: `The client is not registered for the scope ${refused}.` });
  return names;
}

/** Returns the scopes of an agent's own token. Throws OAUTH_INVALID_SCOPE if an agent cannot have one of them. */
export function agentScopes({ config }: Pick<Platform, 'config'>, requested: string | undefined): string[] {
  const allowed = [...AGENT_SCOPES, ...config.mcp.extraScopes];
  if (requested === undefined || requested.trim() === '') return [...AGENT_SCOPES];
  const names = scopeNames(requested);
  const refused = names.find((name) => !allowed.includes(name));
  if (refused !== undefined)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({
      message: `An agent cannot request the scope ${refused.slice(0, 100)} for itself.`,
    });
  return names;
}

/**
 * Returns the requested scopes, or all held ones if none is requested. Throws OAUTH_INVALID_SCOPE if one is not held.
 */
export function narrowScopes(held: readonly string[], requested: string | undefined): string[] {
  if (requested === undefined || requested.trim() === '') return [...held];
  const names = scopeNames(requested);
  const excess = names.find((name) => !held.includes(name));
  if (excess !== undefined)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({
      reason: 'scope-not-granted',
      message: `The scope ${excess.slice(0, 100)} was not granted.`,
    });
  return names;
}

/**
 * Returns the permissions that scopes carry (contract 12.3, `mcp.scopeActions`): actions on the tools of the server
 * that the token is for, or of all servers if it is for this service.
 */
export function permissionsOfScopes(
  { config }: Pick<Platform, 'config'>,
  scopes: readonly string[],
  server: string | undefined,
): Permission[] {
  const granted = config.mcp.scopeActions.map((item) => item.split('=') as [scope: string, action: string]);
  const actions = [
    ...new Set(scopes.flatMap((name) => granted.filter(([scope]) => scope === name).map(([, action]) => action))),
  ];
  return actions.length === 0 ? [] : [{ resource: server === undefined ? 'mcp:*' : `mcp:${server}:*`, actions }];
}
