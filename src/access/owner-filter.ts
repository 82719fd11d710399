import { text } from '../kernel/json.ts';

/** What belongs to one owner, or to the owners of one tenant (contract 4). For an admin; to others it leaves all or nothing. */
export const OwnerFilter = {
  ownerId: text(128).optional(),
  tenantId: text(128).optional(),
} as const;
export interface OwnerFilter {
  readonly ownerId?: string | undefined;
  readonly tenantId?: string | undefined;
}
