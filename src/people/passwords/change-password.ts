import type { Language } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { endSessions } from '../sessions/index.ts';
import { resetAllFailures } from '../sign-in/attempts/attempts.ts';
import { deleteOneTimeTokens } from '../sign-in/one-time-token.ts';
import { sendNotice } from '../sign-in/send-mail.ts';
import { sessionIdOf } from '../sign-in/session-only.ts';
import { endTrustedDevices } from '../sign-in/trusted-device.ts';
import { findUser } from '../users/store.ts';
import { assertMayUsePassword } from './may-use-password.ts';
import { hashPassword } from './password.ts';
import { type PersonCalling, withPasswordCheck } from './password-check.ts';
import { newPasswordFields } from './password-fields.ts';
import { assertPasswordAllowed, type PasswordAdvice } from './password-policy.ts';

/**
 * Changes a password, given the old one. All other sessions of the user end immediately, as do trusted devices, unused
 * links and codes, and pending sign-ins. 401 INVALID_PASSWORD; 403 FORBIDDEN without a session, and PASSWORDS_OFF.
 */
export async function changePassword(
  platform: Platform,
  person: PersonCalling,
  input: { currentPassword: string; newPassword: string },
  language: Language,
): Promise<PasswordAdvice> {
  const sessionId = sessionIdOf(person.principal);
  const { userId } = person.principal;
  const known = await findUser(platform.database.read, userId);
  assertMayUsePassword(platform, known?.role);
  const advice = await assertPasswordAllowed(platform, input.newPassword, {
    action: 'change',
    userId,
    email: known?.email ?? null,
  });
  const passwordHash = await hashPassword(input.newPassword);
  const row = await withPasswordCheck(platform, person, input.currentPassword, async (change, user) => {
    await change.db
      .updateTable('users')
      .set({ password_hash: passwordHash, updated_at: change.now })
      .where('id', '=', user.id)
      .execute();
    await endSessions(platform, change, user.id, { reason: 'password-changed', ip: person.ip, except: sessionId });
    await endTrustedDevices(change, user.id);
    await resetAllFailures(change, user.id, ['password']);
    // A link that verifies the address may contain the old password, and would set it again.
    await deleteOneTimeTokens(change, user.id);
    await change.db.deleteFrom('email_codes').where('user_id', '=', user.id).execute();
    change.emit({
      type: 'user.updated',
      userId: user.id,
      data: { userId: user.id, changed: ['password'], reason: 'password-changed' },
      ...newPasswordFields(user.password_hash),
    });
    return user;
  });
  sendNotice(platform, row, language, (texts, brand) => texts.passwordChanged(brand));
  return advice;
}
