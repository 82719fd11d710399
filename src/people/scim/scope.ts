import { isNarrowed, type Principal } from '../../access/principal.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Call, Platform } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import { canGiveRole } from './group-mapping.ts';

/** The tenant whose users a caller manages; null: all users of the service. */
export type ScimScope = { readonly tenantId: Id<'tenant'> | null };

/** A token belongs to the tenant of its administrator. Nobody outside that tenant is visible to it. */
export const scopeOf = (principal: Principal): ScimScope => ({
  tenantId: principal.kind === 'user' ? principal.tenantId : null,
});

export type ScimCall = Call<unknown, unknown, unknown>;

/** Runs a change with the caller's rights as they are inside it. Throws 401, or 403 if the tenant has changed since. */
export const scimChange = <T>(
  { ledger }: Pick<Platform, 'ledger'>,
  call: ScimCall,
  work: (change: Change, scope: ScimScope) => Promise<T>,
): Promise<T> =>
  ledger.change(call.actor, async (change) => {
    await call.reauthorize(change.db);
    return work(change, await scopeInside(change.db, call));
  });

/** Returns the scope of a caller inside a change. Throws 403 if it is another one than when the request arrived. */
export async function scopeInside(db: Db, { principal }: ScimCall): Promise<ScimScope> {
  const scope = scopeOf(principal);
  // The embedding application states the tenant with each request. The stored one is that of the first request.
  if (principal.kind === 'user' && principal.via === 'external') return scope;
  const row = await db
    .selectFrom('users')
    .select('tenant_id')
    .where('id', '=', principal.kind === 'user' ? principal.userId : asId('user', ''))
    .executeTakeFirst();
  if (row && row.tenant_id !== scope.tenantId) throw CommonErrors.FORBIDDEN();
  return scope;
}

/** Throws 403 if a token of one tenant would change an administrator or an auditor, who see every tenant. */
export function assertMayChange({ tenantId }: ScimScope, user: Pick<UserRow, 'role'>): void {
  if (tenantId !== null && user.role !== 'user')
    throw CommonErrors.FORBIDDEN({ message: 'A token of a tenant cannot change administrators and auditors.' });
}

/**
 * Throws 403 if a narrowed token would set the address of an administrator or auditor, unless SCIM groups can give such
 * a role anyway: the owner of the address can sign in to the account by mail.
 */
export function assertMayReaddress(
  platform: Pick<Platform, 'config'>,
  principal: Principal,
  { role }: Pick<UserRow, 'role'>,
): void {
  if (role !== 'user' && isNarrowed(principal) && !canGiveRole(platform, role))
    throw CommonErrors.FORBIDDEN({
      message:
        'This token cannot change the addresses of administrators and auditors: no group of SCIM gives the role.',
    });
}
