import { CommonErrors } from '../kernel/errors.ts';
import type { Id } from '../kernel/ids.ts';
import type { Db } from '../storage/index.ts';
import type { Access, Effect, OwnResource, Principal, UserPrincipal, Visibility } from './principal.ts';
import { SCIM_SCOPE } from './scopes.ts';

const ALL: Visibility = { kind: 'all' };

/** What the rights of an agent are looked up with. The platform has it. */
interface Deciding {
  readonly database: { readonly read: Db };
  readonly mayUseOwnResource: (
    db: Db,
    agentId: Id<'agent'>,
    resource: OwnResource,
    action: 'read' | 'write' | 'check',
  ) => Promise<boolean>;
}

/**
 * Returns how far a principal sees on a route that declares the access `who` (contract 4). Throws 401 without a
 * credential and 403 without the right, which an auditor lacks for requests that change more than their own account.
 */
export async function visibilityOf(
  platform: Deciding,
  principal: Principal,
  who: Access,
  effect: Effect,
  db: Db = platform.database.read,
): Promise<Visibility> {
  if (who === 'public') return ALL;
  if (principal.kind === 'anonymous') throw CommonErrors.UNAUTHORIZED();
  if (principal.kind === 'user' && principal.secondFactorDue && who !== 'enrolling')
    throw CommonErrors.SECOND_FACTOR_REQUIRED();
  if (who === 'user' || who === 'enrolling' || who === 'admin') {
    if (principal.kind !== 'user' || principal.scopes !== undefined) throw CommonErrors.FORBIDDEN();
    if (who === 'admin' && principal.role === 'user') throw CommonErrors.FORBIDDEN();
    return visibilityOfUser(principal, who === 'enrolling' ? 'ownAccount' : effect);
  }
  if (who === 'scim') {
    if (principal.kind !== 'user' || principal.role === 'user' || principal.scopes?.has(SCIM_SCOPE) === false)
      throw CommonErrors.FORBIDDEN();
    return visibilityOfUser(principal, effect);
  }
  switch (principal.kind) {
    case 'user':
      if (principal.scopes !== undefined && !holds(principal.scopes, who.scope)) throw lacksScope(who.scope);
      return visibilityOfUser(principal, effect);
    case 'agent': {
      if (await platform.mayUseOwnResource(db, principal.agentId, who.resource, who.action))
        return { kind: 'owner', userId: principal.ownerId };
      if (who.self) return { kind: 'agent', agentId: principal.agentId, userId: principal.ownerId };
      throw CommonErrors.FORBIDDEN();
    }
    case 'accessToken':
      if (!holds(principal.scopes, who.scope)) throw lacksScope(who.scope);
      return { kind: 'owner', userId: principal.userId };
  }
}

type Needed = string | readonly [string, ...string[]] | undefined;

const holds = (scopes: ReadonlySet<string>, needed: Needed): boolean =>
  typeof needed === 'string' ? scopes.has(needed) : (needed?.some((scope) => scopes.has(scope)) ?? false);

/** Names a scope that would help. Some routes are not opened by any. */
const lacksScope = (needed: Needed): Error =>
  CommonErrors.FORBIDDEN(
    needed === undefined ? {} : { details: { scope: typeof needed === 'string' ? needed : needed[0] } },
  );

function visibilityOfUser({ role, userId }: UserPrincipal, effect: Effect): Visibility {
  if (role === 'auditor' && effect === 'any')
    throw CommonErrors.FORBIDDEN({ message: 'An auditor reads, and changes nothing.' });
  return role === 'admin' || (role === 'auditor' && effect === 'none') ? ALL : { kind: 'owner', userId };
}
