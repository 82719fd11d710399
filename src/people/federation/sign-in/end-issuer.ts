import { chunk } from '../../../kernel/chunk.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Change, NewEvent } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { endSessions } from '../../sessions/index.ts';
import type { FirstStep } from '../../users/index.ts';
import { issuerOf, lostUses } from '../lost-uses.ts';

/**
 * Ends the sessions that people began with an issuer that may no longer sign people in, and sign-ins that wait for
 * their second factor, in the change that says so.
 */
export async function endSessionsOfIssuer(
  platform: Pick<Platform, 'config' | 'database' | 'stateOf'>,
  change: Change,
  event: NewEvent,
): Promise<void> {
  if (!(await lostUses(platform, change, event)).includes('signIn')) return;
  const issuer = await issuerOf(change, event);
  await endWaiting(change, issuer);
  const rows = await change.db.selectFrom('sessions').select(['id', 'user_id']).where('issuer', '=', issuer).execute();
  const byUser = new Map<Id<'user'>, Id<'session'>[]>();
  for (const { id, user_id } of rows) byUser.set(user_id, [...(byUser.get(user_id) ?? []), id]);
  const reason = event.type === 'issuer.deleted' ? 'issuer-deleted' : 'issuer-changed';
  for (const [userId, only] of byUser) await endSessions(platform, change, userId, { reason, only });
}

async function endWaiting({ db }: Change, issuer: string): Promise<void> {
  const waiting = await db
    .selectFrom('one_time_tokens')
    .select(['token_hash', 'data'])
    .where('purpose', '=', 'two-factor')
    .where('data', 'like', '%"provider":%')
    .execute();
  const ended = waiting.filter(({ data }) => (JSON.parse(data) as FirstStep).provider?.issuer === issuer);
  for (const some of chunk(ended.map((row) => row.token_hash)))
    await db.deleteFrom('one_time_tokens').where('token_hash', 'in', some).execute();
}
