import { z } from 'zod';
import type { LegateError } from '../../kernel/errors.ts';
import { parseWith } from '../../kernel/json.ts';
import {
  actions,
  button,
  buttonLink,
  checkbox,
  errorSummary,
  field,
  form,
  html,
  notice,
  or,
  page,
  pathOf,
  type Site,
  seeOther,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { startCookie } from '../sessions/index.ts';
import { hasPasskeys } from '../sign-in/passkeys/index.ts';
import {
  formProblems,
  SignIn,
  type SignInResult,
  secondStepCookie,
  signIn,
  signInDevice,
  UserErrors,
} from '../users/index.ts';
import {
  type AnyCall,
  answerForm,
  destination,
  emailField,
  findPagePerson,
  formTargets,
  offersSignUp,
  PATHS,
  waiting,
  withReturnTo,
} from './form.ts';
import { otherWays } from './other-ways.ts';
import { PASSKEY_SCRIPT } from './passkey-script.ts';

/** Deliberately loose: the use case checks the values, so that the page can show the problems. */
export const SignInForm = z
  .strictObject({
    email: z.string().max(4096),
    password: z.string().max(16_384),
    rememberMe: z.string().max(10).optional(),
  })
  .meta({ id: 'SignInForm' });
type SignInForm = z.output<typeof SignInForm>;

/** GET: the form. A signed-in user can continue as they are. */
export async function signInPage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'mailer' | 'stateOf' | 'waitingFor'>,
  call: AnyCall,
): Promise<Response> {
  return render(platform, call, { already: (await findPagePerson(platform, call))?.name });
}

interface Shown {
  readonly tried?: { readonly error: LegateError; readonly form: SignInForm };
  /** The signed-in user. */
  readonly already?: string | undefined;
}

/** The form, with the previous outcome (`?done=`) or the problems of the last attempt. */
async function render(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'mailer' | 'stateOf' | 'waitingFor'>,
  call: AnyCall,
  { tried, already }: Shown,
): Promise<Response> {
  const t = textsFor(call.request);
  const problems = tried ? formProblems(t, tried.error) : [];
  const hasPasswords = platform.config.users.passwords !== 'off';
  const done = { 'signed-out': t.signIn.signedOut, 'password-changed': t.signIn.passwordChanged }[
    call.url.searchParams.get('done') ?? ''
  ];
  return page(platform, call.request, {
    title: t.signIn.title,
    error: tried?.error,
    formTargets: formTargets(platform, call),
    ...(hasPasskeys(platform) ? { script: PASSKEY_SCRIPT } : {}),
    body: html`${errorSummary(t, problems)}${
      done !== undefined && !tried && notice('good', done)
    }${await waiting(platform, call)}${
      already !== undefined &&
      html`${actions(buttonLink(t.signIn.continueAs(already), destination(platform, call)))}${or(t)}`
    }${
      hasPasswords &&
      form(
        call.url,
        html`${emailField(t, tried?.form.email, problems)}
${field(
  t,
  { name: 'password', label: t.common.password, type: 'password', autocomplete: 'current-password' },
  problems,
)}
${checkbox({
  name: 'rememberMe',
  label: t.signIn.remember,
  checked: tried ? tried.form.rememberMe !== undefined : true,
})}
${actions(button({ label: t.signIn.submit }))}`,
      )
    }${
      tried?.error.code === UserErrors.EMAIL_NOT_VERIFIED.code &&
      platform.mailer.available &&
      html`<p><a href="${pathOf(platform, PATHS.verifyEmail)}">${t.signIn.verify}</a></p>`
    }${await otherWays(platform, call, t, hasPasswords)}<div class="ways">${
      platform.mailer.available &&
      hasPasswords &&
      html`<p><a href="${pathOf(platform, PATHS.forgotPassword)}">${t.signIn.forgot}</a></p>`
    }${
      offersSignUp(platform) &&
      html`<p>${t.signIn.noAccount} <a href="${withReturnTo(platform, call, PATHS.signUp)}">${t.signIn.signUp}</a></p>`
    }</div>`,
  });
}

/** POST: signs in and redirects, to the second step if there is one. */
export const signInForm = (platform: Platform, call: AnyCall & { readonly body: SignInForm }): Promise<Response> =>
  answerForm(
    platform,
    call,
    async () => {
      const { email, password, rememberMe } = call.body;
      return finish(
        platform,
        call,
        await signIn(
          platform,
          parseWith(SignIn, { email, password, rememberMe: rememberMe !== undefined }),
          signInDevice(platform, call),
        ),
      );
    },
    (error) => render(platform, call, { tried: { error, form: call.body } }),
  );

/**
 * Redirects after a successful first step: to the page the user wanted, or to the second step, whose token is kept in
 * a cookie.
 */
export function finish(platform: Pick<Platform, 'baseUrl' | 'config'>, call: AnyCall, result: SignInResult): Response {
  if ('twoFactorRequired' in result) {
    return seeOther(withReturnTo(platform, call, PATHS.secondFactor), {}, [
      secondStepCookie.set(platform, result.twoFactorToken),
    ]);
  }
  return seeOther(destination(platform, call), startCookie(platform, result.token, result.rememberMe), result.cookies);
}

/** The redirect after signing out. */
export const signedOut = (site: Site, headers: Readonly<Record<string, string>>): Response =>
  seeOther(`${pathOf(site, PATHS.signIn)}?done=signed-out`, headers);
