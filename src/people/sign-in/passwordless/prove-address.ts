import type { Change } from '../../../ledger/index.ts';
import type { UserRow } from '../../../storage/index.ts';

/** Who used what was mailed to an address has it. Gives the row as it is then. */
export async function markEmailVerified({ db, now }: Change, row: UserRow): Promise<UserRow> {
  if (row.email_verified === 1) return row;
  await db.updateTable('users').set({ email_verified: 1, updated_at: now }).where('id', '=', row.id).execute();
  return { ...row, email_verified: 1, updated_at: now };
}
