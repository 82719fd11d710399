import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { User, UserFilter } from './schema.ts';
import { findUsers, getUserRow, toUser } from './store.ts';

/** Returns up to `limit` users after the id `after`, ordered by id. For administrators. */
export async function listUsers(
  { database }: Pick<Platform, 'database'>,
  filter: UserFilter,
  page: { limit: number; after: Id<'user'> | undefined },
): Promise<User[]> {
  return (await findUsers(database.read, filter, page)).map(toUser);
}

/** Returns a user. For administrators. 404 USER_NOT_FOUND. */
export async function getUser({ database }: Pick<Platform, 'database'>, id: Id<'user'>): Promise<User> {
  return toUser(await getUserRow(database.read, id));
}
