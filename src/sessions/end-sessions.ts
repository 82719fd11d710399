import type { Change } from '../ledger/index.ts';

/** Ends one session at once, on every instance. */
export async function endSession(change: Change, sessionId: string): Promise<void> {
  change.invalidate();
  await change.db.deleteFrom('sessions').where('id', '=', sessionId).execute();
}

/** Ends every session of a user at once. */
export async function endSessionsOf(change: Change, userId: string): Promise<void> {
  change.invalidate();
  await change.db.deleteFrom('sessions').where('user_id', '=', userId).execute();
}
