import { CommonErrors } from '../kernel/errors.ts';
import type { Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';
import type { Access, Principal, Visibility } from './principal.ts';

const ALL: Visibility = { kind: 'all' };

/**
 * Returns how far a principal sees on a route that declares the access `who` (contract 4). Throws 401 without a
 * credential and 403 without the right.
 */
export async function visibilityOf(
  platform: Platform,
  principal: Principal,
  who: Access,
  db: Db = platform.database.read,
): Promise<Visibility> {
  if (who === 'public') return ALL;
  if (principal.kind === 'anonymous') throw CommonErrors.UNAUTHORIZED();
  if (principal.kind === 'user' && principal.secondFactorDue && who !== 'enrolling')
    throw CommonErrors.SECOND_FACTOR_REQUIRED();
  if (who === 'user' || who === 'enrolling' || who === 'admin') {
    if (principal.kind !== 'user' || principal.scopes !== undefined) throw CommonErrors.FORBIDDEN();
    if (who === 'admin' && principal.role !== 'admin') throw CommonErrors.FORBIDDEN();
    return principal.role === 'admin' ? ALL : { kind: 'owner', userId: principal.userId };
  }
  switch (principal.kind) {
    case 'user':
      if (principal.scopes !== undefined && !(who.scope && principal.scopes.has(who.scope)))
        throw CommonErrors.FORBIDDEN({ details: { scope: who.scope ?? null } });
      return principal.role === 'admin' ? ALL : { kind: 'owner', userId: principal.userId };
    case 'agent': {
      if (await platform.mayUseOwnResource(db, principal.agentId, who.resource, who.action))
        return { kind: 'owner', userId: principal.ownerId };
      if (who.self) return { kind: 'agent', agentId: principal.agentId, userId: principal.ownerId };
      throw CommonErrors.FORBIDDEN();
    }
    case 'accessToken':
      if (!who.scope || !principal.scopes.has(who.scope))
        throw CommonErrors.FORBIDDEN({ details: { scope: who.scope ?? null } });
      return { kind: 'owner', userId: principal.userId };
  }
}
