import { CommonErrors, type Issue, type LegateError } from '../../kernel/errors.ts';
import { messageOf, type Problem, type Texts } from '../../pages/index.ts';
import { BreachErrors } from '../passwords/breach/index.ts';
import { UserErrors } from '../users/errors.ts';

const ABOUT_PASSWORD: readonly string[] = [
  BreachErrors.PASSWORD_BREACHED.code,
  BreachErrors.PASSWORD_CHECK_UNAVAILABLE.code,
  UserErrors.PASSWORD_REJECTED.code,
  UserErrors.PASSWORD_TOO_COMMON.code,
  UserErrors.PASSWORD_TOO_PERSONAL.code,
];

/**
 * Maps an error to problems of form fields, in the language of the page.
 * @param password name of the field for a new password
 */
export function formProblems(t: Texts, error: LegateError, password = 'password'): Problem[] {
  if (ABOUT_PASSWORD.includes(error.code)) {
    // The message of users.validatePassword is shown unchanged and is not translated.
    const own =
      error.code === UserErrors.PASSWORD_REJECTED.code && error.message !== UserErrors.PASSWORD_REJECTED.message;
    return [{ field: password, message: own ? error.message : messageOf(t, error) }];
  }
  if (error.code === UserErrors.EMAIL_IN_USE.code) return [{ field: 'email', message: messageOf(t, error) }];
  if (error.code !== CommonErrors.VALIDATION_FAILED.code) return [{ message: messageOf(t, error) }];
  const issues = (error.details?.['issues'] ?? []) as Issue[];
  return issues.map(({ path, message }) => {
    if (path === 'email') return { field: path, message: t.fields.email };
    if (path === password)
      return { field: path, message: /at most/.test(message) ? t.fields.passwordLong : t.fields.passwordShort };
    return path === '' ? { message: t.codes.VALIDATION_FAILED } : { field: path, message: t.fields.invalid };
  });
}
