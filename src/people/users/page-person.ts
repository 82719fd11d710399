import type { UserPrincipal } from '../../access/principal.ts';
import type { PagePerson } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { signedIn } from '../sessions/index.ts';
import { findUser } from './store.ts';

/** Returns the data of the signed-in user that pages show. */
export async function pagePerson(
  { database }: Pick<Platform, 'database'>,
  principal: UserPrincipal,
): Promise<PagePerson> {
  const known = signedIn(principal)?.user ?? (await findUser(database.read, principal.userId));
  return { name: known?.email ?? principal.userId, canSignOut: principal.via === 'session' };
}
