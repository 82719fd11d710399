import { text } from '../kernel/json.ts';

/**
 * Restricts a list to one owner or one tenant (contract 4). Meant for admins: for others the list stays as it is or is
 * empty.
 */
export const OwnerFilter = {
  ownerId: text(128).optional(),
  tenantId: text(128).optional(),
} as const;
export interface OwnerFilter {
  readonly ownerId?: string | undefined;
  readonly tenantId?: string | undefined;
}
