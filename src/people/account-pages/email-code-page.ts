import { z } from 'zod';
import type { LegateError } from '../../kernel/errors.ts';
import { parseWith } from '../../kernel/json.ts';
import {
  actions,
  button,
  errorSummary,
  field,
  form,
  html,
  languageOf,
  messageOf,
  notice,
  page,
  type Site,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { emailCodeCookie, SendCode, sendEmailCode, useEmailCode, VerifyCode } from '../sign-in/passwordless/index.ts';
import { formProblems, sessionOf, signInDevice, UserErrors } from '../users/index.ts';
import { type AnyCall, answerForm, emailField, formTargets, PATHS, waiting, withReturnTo } from './form.ts';
import { finish } from './sign-in-page.ts';

/** Deliberately loose: the page shows the problems. */
export const EmailCodeForm = z.strictObject({ email: z.string().max(4096) }).meta({ id: 'EmailCodeForm' });
export const UseEmailCodeForm = z
  .strictObject({ email: z.string().max(4096), code: z.string().max(64) })
  .meta({ id: 'UseEmailCodeForm' });

interface Tried {
  readonly error: LegateError;
  readonly email: string;
}

/** GET: the form for an address. */
export async function emailCodePage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'waitingFor'>,
  call: AnyCall,
  tried?: Tried,
): Promise<Response> {
  const t = textsFor(call.request);
  const problems = tried ? formProblems(t, tried.error) : [];
  return page(platform, call.request, {
    title: t.emailCode.title,
    error: tried?.error,
    body: html`${errorSummary(t, problems)}${await waiting(platform, call)}<p>${t.emailCode.text}</p>${form(
      withReturnTo(platform, call, PATHS.emailCode),
      html`${emailField(t, tried?.email, problems)}
${actions(button({ label: t.emailCode.submit }))}`,
    )}<p><a href="${withReturnTo(platform, call, PATHS.signIn)}">${t.common.backToSignIn}</a></p>`,
  });
}

/** The form for the code, which is the same whether or not there is an account. */
function codePage(
  site: Site,
  call: AnyCall,
  email: string,
  o: { readonly tried?: Tried; readonly cookies?: readonly string[] } = {},
): Response {
  const t = textsFor(call.request);
  const { tried, cookies } = o;
  const at = tried?.error.code === UserErrors.INVALID_CODE.code ? { field: 'code' } : {};
  const problems = tried ? [{ ...at, message: messageOf(t, tried.error) }] : [];
  return page(site, call.request, {
    title: t.emailCode.enterTitle,
    error: tried?.error,
    ...(cookies ? { cookies } : {}),
    formTargets: formTargets(site, call),
    body: html`${errorSummary(t, problems)}${!tried && notice('good', t.emailCode.sent(email))}${form(
      withReturnTo(site, call, PATHS.useEmailCode),
      html`${field(
        t,
        {
          name: 'code',
          label: t.emailCode.code,
          hint: t.emailCode.hint,
          autocomplete: 'one-time-code',
          inputmode: 'numeric',
          code: true,
          maxlength: 64,
          autofocus: true,
        },
        problems,
      )}
${actions(button({ label: t.emailCode.signIn }))}`,
      { email },
    )}<p><a href="${withReturnTo(site, call, PATHS.emailCode)}">${t.emailCode.again}</a></p>`,
  });
}

/** POST: mails a code. */
export const emailCodeForm = (
  platform: Platform,
  call: AnyCall & { readonly body: z.output<typeof EmailCodeForm> },
): Promise<Response> =>
  answerForm(
    platform,
    call,
    async () => {
      const { email } = parseWith(SendCode, call.body);
      const earlier = emailCodeCookie.read(platform, call.request);
      const { knownDevice } = signInDevice(platform, call);
      const browser = { earlier, knownDevice };
      const requestToken = await sendEmailCode(platform, email, languageOf(call.request), browser);
      return codePage(platform, call, email, { cookies: [emailCodeCookie.set(platform, requestToken)] });
    },
    (error) => emailCodePage(platform, call, { error, email: call.body.email }),
  );

/** POST: signs in with the code. */
export const useEmailCodeForm = (
  platform: Platform,
  call: AnyCall & { readonly body: z.output<typeof UseEmailCodeForm> },
): Promise<Response> =>
  answerForm(
    platform,
    call,
    async () => {
      const { email, code } = call.body;
      const device = { ...signInDevice(platform, call), session: await sessionOf(call) };
      const requestToken = emailCodeCookie.read(platform, call.request);
      const input = parseWith(VerifyCode, { email, otp: code });
      return finish(platform, call, await useEmailCode(platform, input, requestToken, device));
    },
    (error) => codePage(platform, call, call.body.email, { tried: { error, email: call.body.email } }),
  );
