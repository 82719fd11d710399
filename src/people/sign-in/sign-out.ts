import type { Actor } from '../../access/actor.ts';
import { asUser, type Principal } from '../../access/principal.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { endSessions } from '../sessions/index.ts';
import { sessionIdOf } from './session-only.ts';

interface Caller {
  readonly principal: Principal;
  readonly reauthorize: (db: Db) => Promise<unknown>;
  readonly ip: string | null;
  readonly actor: Actor;
}

/** Ends the session of the call immediately, on every instance. 403 FORBIDDEN if the caller used another credential. */
export async function signOut(
  platform: Pick<Platform, 'config' | 'ledger'>,
  { principal, reauthorize, ip, actor }: Caller,
): Promise<void> {
  const sessionId = sessionIdOf(
    principal,
    'Only a session can sign out. Revoke an API token with DELETE /api-tokens/:id.',
  );
  const { userId } = asUser(principal);
  await platform.ledger.change(actor, async (change) => {
    // Of concurrent sign-outs exactly one succeeds.
    await reauthorize(change.db);
    await endSessions(platform, change, userId, { reason: 'sign-out', ip, only: [sessionId] });
  });
}
