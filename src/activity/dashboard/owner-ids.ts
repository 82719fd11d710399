import type { ListVisibility } from '../../access/principal.ts';
import { findOwnersOf } from '../../access/where-visible.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Db } from '../../storage/index.ts';

/** Returns the owners whose rows are visible; undefined: all of them. */
export async function ownerIds(db: Db, visibility: ListVisibility): Promise<readonly Id<'user'>[] | undefined> {
  switch (visibility.kind) {
    case 'all':
      return undefined;
    case 'nothing':
      return [];
    case 'owners':
      return visibility.userIds;
    case 'tenants':
      return findOwnersOf(db, visibility.tenantIds);
    default:
      return [visibility.userId];
  }
}
