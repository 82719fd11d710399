import type { PlainText } from '../../kernel/branded.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Language } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { SessionRow } from '../../storage/index.ts';
import { actAsPerson } from './act-as-person.ts';
import { parseDevice } from './device.ts';
import { endSessions } from './end-sessions.ts';
import { SessionErrors } from './errors.ts';
import { absoluteMs, expiryAfterUse } from './lifetime.ts';
import { nextUse } from './use-order.ts';

/** The client of a sign-in. */
export interface Device {
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** undefined: the request stated none. */
  readonly language?: Language | undefined;
}

/** How strongly a sign-in authenticated its user. */
export interface Proof {
  /** When the user authenticated with all their factors, by the clock. Default: now. */
  readonly authTime?: number;
  /** Whether the credential counts as both factors. */
  readonly bothFactors?: boolean;
  /** The identity provider that authenticated the user, and the hash of the id of its session. */
  readonly provider?: ProviderSession | undefined;
}

export interface ProviderSession {
  readonly issuer: string;
  readonly sessionHash: string | null;
}

export interface NewSession {
  /** The session token. Returned once and stored as a hash. */
  readonly token: PlainText;
  readonly session: SessionRow;
}

/**
 * Creates a session with a token of its own and emits `auth.signin`. Deletes the user's expired sessions.
 *
 * If the user already has `multiSession.maxSessions`, the least recently used session ends, or 429
 * SESSION_LIMIT_REACHED is thrown. Exact, because changes are serialised across all instances.
 * @param method how the user authenticated: `password`, `magic-link`, `password+totp`
 */
export async function createSession(
  platform: Pick<Platform, 'clock' | 'config'>,
  change: Change,
  userId: Id<'user'>,
  device: Device,
  method: string,
  { authTime = platform.clock.now(), bothFactors = false, provider }: Proof = {},
): Promise<NewSession> {
  const { db, now } = change;
  const { trackDevice, trackIp } = platform.config.multiSession;
  await db.deleteFrom('sessions').where('user_id', '=', userId).where('expires_at', '<=', now).execute();
  if (change.actor.id === null) actAsPerson(platform, change, userId, device.ip);
  await makeRoom(platform, change, userId);

  const token = newSecret('sessionToken');
  const absoluteExpiresAt = now + absoluteMs(platform);
  const session: SessionRow = {
    id: newId('session', now),
    user_id: userId,
    token_hash: secretHash(token),
    created_at: now,
    last_used_at: await nextUse(db, userId, now),
    expires_at: expiryAfterUse(platform, now, absoluteExpiresAt),
    absolute_expires_at: absoluteExpiresAt,
    auth_time: authTime,
    both_factors: bothFactors ? 1 : 0,
    issuer: provider?.issuer ?? null,
    issuer_session_hash: provider?.sessionHash ?? null,
    ip: trackIp ? device.ip : null,
    user_agent: trackDevice ? device.userAgent : null,
  };
  await db.insertInto('sessions').values(session).execute();
  if (device.language !== undefined) await keepLanguage(change, userId, device.language);
  change.emit({
    type: 'auth.signin',
    userId,
    data: {
      userId,
      sessionId: session.id,
      method,
      ipAddress: session.ip,
      ...(trackDevice ? { device: parseDevice(session.user_agent) } : {}),
    },
  });
  return { token, session };
}

/** Mails that no request of the person causes are in this language. */
async function keepLanguage({ db }: Change, userId: Id<'user'>, language: Language): Promise<void> {
  await db
    .updateTable('users')
    .set({ language })
    .where('id', '=', userId)
    .where((eb) => eb.or([eb('language', 'is', null), eb('language', '<>', language)]))
    .execute();
}

async function makeRoom(platform: Pick<Platform, 'config'>, change: Change, userId: Id<'user'>): Promise<void> {
  const { maxSessions, overflow } = platform.config.multiSession;
  if (maxSessions === 0) return;
  const live = await change.db
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .orderBy('last_used_at')
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const over = live.length - maxSessions + 1;
  if (over <= 0) return;
  if (overflow === 'reject') throw SessionErrors.SESSION_LIMIT_REACHED({ details: { maxSessions } });
  const evicted = live.slice(0, over).map((row) => row.id);
  await endSessions(platform, change, userId, { reason: 'evicted', only: evicted });
}
