import type { Db, UserRow } from '../storage/index.ts';

/** Access to the owners of agents for areas outside `people`. `people/users` implements it. */
export interface Owners {
  find(db: Db, userId: string): Promise<UserRow | undefined>;
  /** Adds the bare record of a user of the embedding application, if there is none yet. */
  ensureExternal(
    db: Db,
    now: number,
    user: { readonly userId: string; readonly tenantId: string | null },
  ): Promise<void>;
}
