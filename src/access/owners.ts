import type { Id } from '../kernel/ids.ts';
import type { Platform } from '../platform.ts';
import type { Db, UserRow } from '../storage/index.ts';

type Change = Parameters<Parameters<Platform['ledger']['change']>[1]>[0];

/** Access to the owners of agents for areas outside `people`. `people/users` implements it. */
export interface Owners {
  find(db: Db, userId: Id<'user'>): Promise<UserRow | undefined>;
  /** Adds the bare record of a user of the embedding application, if there is none yet. */
  ensureExternal(
    change: Change,
    user: { readonly userId: Id<'user'>; readonly tenantId: Id<'tenant'> | null },
  ): Promise<void>;
}
