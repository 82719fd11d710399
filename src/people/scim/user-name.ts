import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Id } from '../../kernel/ids.ts';
import type { Db } from '../../storage/index.ts';
import { emailKey } from '../users/email.ts';
import { ScimErrors } from './errors.ts';

/**
 * The userName of a user, as text or in comparison form: the one that a directory gave or, without one, the address. If
 * another user has this address as userName, it is the id, because a userName is unique (RFC 7643, section 4.1.1).
 */
export function shownUserName(db: Db, form: 'text' | 'key'): RawBuilder<string> {
  const [given, address] = form === 'text' ? ['user_name', 'email'] : ['user_name_key', 'email_key'];
  const sameName = db
    .selectFrom('scim_users as others')
    .select('others.user_id')
    .where(sql<SqlBool>`${sql.ref('others.user_name_key')} = ${sql.ref('users.email_key')}`);
  const [id, own] = [sql.ref('users.id'), sql.ref(`users.${address}`)];
  const unnamed = sql`case when exists ${sameName} then ${id} else ${own} end`;
  return sql<string>`coalesce(${sql.ref(`scim_users.${given}`)}, ${unnamed})`;
}

/**
 * Throws 409 SCIM_UNIQUENESS if another user of the service has this userName. An address is the userName of its user
 * only if no directory has given it to somebody, so a user keeps a given userName that is the address of an account.
 */
export async function assertUserNameFree(db: Db, userName: string, except: Id<'user'> | undefined): Promise<void> {
  const key = emailKey(userName);
  const given = db.selectFrom('scim_users').select('user_id').where('user_name_key', '=', key);
  const addressed = db
    .selectFrom('users')
    .leftJoin('scim_users', 'scim_users.user_id', 'users.id')
    .select('users.id as user_id')
    .where('users.email_key', '=', key)
    .where('scim_users.user_id', 'is', null);
  const holder = (await given.executeTakeFirst()) ?? (await addressed.executeTakeFirst());
  if (holder && holder.user_id !== except)
    throw ScimErrors.SCIM_UNIQUENESS({ message: 'A user with this userName already exists.' });
}
