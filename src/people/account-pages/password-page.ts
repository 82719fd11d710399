import { z } from 'zod';
import { asUser } from '../../access/principal.ts';
import type { LegateError } from '../../kernel/errors.ts';
import { parseWith } from '../../kernel/json.ts';
import {
  actions,
  button,
  buttonLink,
  errorSummary,
  field,
  form,
  html,
  languageOf,
  messageOf,
  notice,
  type Problem,
  page,
  pathOf,
  seeOther,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { changePassword } from '../passwords/change-password.ts';
import { findUser, formProblems, mayUsePassword, sessionIdOf, UserErrors } from '../users/index.ts';
import { ChangePassword } from '../users/schema.ts';
import { type AnyCall, answerForm, findPagePerson, PATHS, personCalling } from './form.ts';

/** Deliberately loose: the use case checks the values, so that the page can show the problems. */
export const PasswordForm = z
  .strictObject({ currentPassword: z.string().max(16_384), newPassword: z.string().max(16_384) })
  .meta({ id: 'PasswordForm' });

/** GET: the form, with the problems of the last attempt. */
export async function passwordPage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: AnyCall,
  error?: LegateError,
): Promise<Response> {
  const t = textsFor(call.request);
  const { userId, via } = asUser(call.principal);
  const person = await findPagePerson(platform, call);
  const user = await findUser(platform.database.read, userId);
  const problems = error ? problemsOf(t, error) : [];
  const done = call.url.searchParams.get('done') === 'changed' && !error && notice('good', t.password.done);
  const fields = html`${field(
    t,
    { name: 'currentPassword', label: t.password.current, type: 'password', autocomplete: 'current-password' },
    problems,
  )}
${field(
  t,
  {
    name: 'newPassword',
    label: t.password.new,
    type: 'password',
    autocomplete: 'new-password',
    hint: t.common.newPasswordHint,
  },
  problems,
)}
<p class="quiet">${t.password.consequence}</p>${actions(button({ label: t.password.submit }))}`;
  const setOne = html`<p>${t.password.none}</p>${actions(
    buttonLink(t.password.set, pathOf(platform, PATHS.forgotPassword), 'primary'),
  )}`;
  const content =
    via !== 'session'
      ? notice('info', t.password.external)
      : !mayUsePassword(platform, user?.role)
        ? notice('info', t.codes.PASSWORDS_OFF)
        : user?.password_hash
          ? form(pathOf(platform, PATHS.password), fields)
          : setOne;
  return page(platform, call.request, {
    title: t.password.title,
    error,
    person,
    inAccount: true,
    body: html`${errorSummary(t, problems)}${done}${content}`,
  });
}

/** POST: changes the password. All other sessions of the user end. */
export const passwordForm = (
  platform: Platform,
  call: AnyCall & { readonly body: z.output<typeof PasswordForm> },
): Promise<Response> => {
  sessionIdOf(call.principal);
  return answerForm(
    platform,
    call,
    async () => {
      const input = parseWith(ChangePassword, call.body);
      const advice = await changePassword(platform, personCalling(call), input, languageOf(call.request));
      return seeOther(`${pathOf(platform, PATHS.password)}?done=changed`, advice);
    },
    (error) => passwordPage(platform, call, error),
  );
};

const problemsOf = (t: Texts, error: LegateError): Problem[] =>
  error.code === UserErrors.INVALID_PASSWORD.code
    ? [{ field: 'currentPassword', message: messageOf(t, error) }]
    : formProblems(t, error, 'newPassword');
