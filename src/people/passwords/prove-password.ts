import type { UserPrincipal } from '../../access/principal.ts';
import { invalidCredential } from '../../kernel/errors.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import { attempting, type Refusal, refuse } from '../sign-in/refusal.ts';
import { UserErrors } from '../users/errors.ts';
import { findUser } from '../users/store.ts';
import { verifyPassword } from './password.ts';

export interface PersonCalling {
  readonly principal: UserPrincipal;
  /** Proves credential and right again inside the change. */
  readonly reauthorize: (db: Db) => Promise<unknown>;
  readonly ip: string | null;
}

/**
 * A change that a person makes with the password in hand, beside their session: `work` gets their row as it is in the change.
 * 401 INVALID_PASSWORD, which is recorded as `auth.failed`.
 */
export async function withPasswordCheck<T>(
  platform: Platform,
  person: PersonCalling,
  password: string,
  work: (change: Change, row: UserRow) => Promise<T>,
): Promise<T> {
  const found = await findUser(platform.database.read, person.principal.userId);
  const right = await verifyPassword(found?.password_hash ?? null, password);
  return attempting<T>(platform, async (change) => {
    await person.reauthorize(change.db);
    const row = await findUser(change.db, person.principal.userId);
    if (!row) throw invalidCredential('principal-ended');
    if (!right || row.password_hash !== found?.password_hash)
      return refuse(
        platform,
        change,
        { method: 'password', email: row.email, userId: row.id, ip: person.ip },
        UserErrors.INVALID_PASSWORD({ reason: 'password-wrong' }),
      ) as Refusal;
    return work(change, row);
  });
}
