import { CommonErrors, type Issue, type LegateError } from '../lib/error.ts';
import { messageOf, type Problem, type Texts } from '../pages/index.ts';

/** What an error means for the fields of a form, in the language of the page. */
export function formProblems(t: Texts, error: LegateError): Problem[] {
  if (error.code !== CommonErrors.VALIDATION_FAILED.code) return [{ message: messageOf(t, error) }];
  const issues = (error.details?.['issues'] ?? []) as Issue[];
  return issues.map(({ path, message }) => {
    if (path === 'email') return { field: path, message: t.fields.email };
    if (path === 'password' || path === 'newPassword') return { field: path, message: /at most/.test(message) ? t.fields.passwordLong : t.fields.passwordShort };
    return path === '' ? { message: t.codes.VALIDATION_FAILED } : { field: path, message: t.fields.invalid };
  });
}
