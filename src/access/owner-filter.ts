import { idOf } from '../kernel/id-schema.ts';
import type { Id } from '../kernel/ids.ts';
import { text } from '../kernel/json.ts';

/**
 * Restricts a list to one owner or one tenant (contract 4). Meant for admins: for others the list does not change or
 * becomes empty.
 */
export const OwnerFilter = {
  ownerId: idOf('user', text(128)).optional(),
  tenantId: idOf('tenant', text(128)).optional(),
} as const;
export interface OwnerFilter {
  readonly ownerId?: Id<'user'> | undefined;
  readonly tenantId?: Id<'tenant'> | undefined;
}
