import { SYSTEM } from '../../src/access/actor.ts';
import { asId } from '../../src/kernel/ids.ts';
import { createSession } from '../../src/people/sessions/index.ts';
import { eventsOf } from './events.ts';
import type { Answered, TestService } from './service.ts';

export interface SignedIn {
  readonly id: string;
  readonly token: string;
}

/** Creates a session without the cost of hashing a password. */
export async function signIn(
  t: TestService,
  userId: string,
  origin: { ip?: string; userAgent?: string } = {},
): Promise<SignedIn> {
  const { platform } = t.legate;
  const { token, session } = await platform.ledger.change(SYSTEM, (change) =>
    createSession(
      platform,
      change,
      asId('user', userId),
      { ip: origin.ip ?? '192.0.2.1', userAgent: origin.userAgent ?? null },
      'test',
    ),
  );
  return { id: session.id, token };
}

export const list = (t: TestService, as: { token: string }): Promise<Answered> =>
  t.call('GET', '/auth/sessions', { as });
export const idsOf = async (t: TestService, as: { token: string }): Promise<string[]> =>
  (await list(t, as)).body.sessions.map((s: { id: string }) => s.id);
export const alive = async (t: TestService, session: SignedIn): Promise<boolean> =>
  (await t.call('GET', '/auth/session', { as: session })).status === 200;
/** Returns the events of one person's sign-ins, oldest first. */
export const told = async (t: TestService, userId: string) =>
  (await eventsOf(t))
    .filter((e) => e.userId === userId && e.type.startsWith('auth.'))
    .map(({ type, data }) => ({ type, ...data }));
