import { idOf } from '../kernel/id-schema.ts';
import type { Id } from '../kernel/ids.ts';
import { text } from '../kernel/json.ts';
import { anyOf } from '../kernel/query.ts';

/**
 * Restricts a list to owners or tenants (contract 4). Meant for admins: for others the list does not change or becomes
 * empty.
 */
export const OwnerFilter = {
  ownerId: anyOf(idOf('user', text(128))),
  tenantId: anyOf(idOf('tenant', text(128))),
} as const;
export interface OwnerFilter {
  readonly ownerId?: readonly Id<'user'>[] | undefined;
  readonly tenantId?: readonly Id<'tenant'>[] | undefined;
}
