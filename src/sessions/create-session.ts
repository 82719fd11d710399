import type { Change } from '../ledger/index.ts';
import { newId } from '../lib/ids.ts';
import { newSecret, secretHash } from '../lib/secrets.ts';
import type { SessionRow } from '../storage/index.ts';
import { ABSOLUTE_MS, expiryAfterUse } from './lifetime.ts';

/** Where a sign-in came from. */
export interface Device {
  readonly ip: string | null;
  readonly userAgent: string | null;
}

export interface NewSession {
  /** The session token: handed out once, stored as a hash. */
  readonly token: string;
  readonly session: SessionRow;
}

/** A new session for a user, always with a token of its own. Sweeps away what has expired of that user's sessions. */
export async function createSession({ db, now }: Change, userId: string, device: Device): Promise<NewSession> {
  const token = newSecret('sessionToken');
  const absoluteExpiresAt = now + ABSOLUTE_MS;
  const session: SessionRow = {
    id: newId('session', now),
    user_id: userId,
    token_hash: secretHash(token),
    created_at: now,
    last_used_at: now,
    expires_at: expiryAfterUse(now, absoluteExpiresAt),
    absolute_expires_at: absoluteExpiresAt,
    ip: device.ip,
    user_agent: device.userAgent,
  };
  await db.deleteFrom('sessions').where('user_id', '=', userId).where('expires_at', '<=', now).execute();
  await db.insertInto('sessions').values(session).execute();
  return { token, session };
}
