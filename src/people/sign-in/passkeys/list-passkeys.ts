import type { Id } from '../../../kernel/ids.ts';
import type { Platform } from '../../../platform.ts';
import type { Passkey } from './schema.ts';
import { findPasskeys, toPasskey } from './store.ts';

/** Returns the passkeys of a user, oldest first. */
export const listPasskeys = async ({ database }: Pick<Platform, 'database'>, userId: Id<'user'>): Promise<Passkey[]> =>
  (await findPasskeys(database.read, userId)).map(toPasskey);
