import { z } from 'zod';
import type { LegateError } from '../../kernel/errors.ts';
import {
  actions,
  button,
  buttonLink,
  checkbox,
  errorSummary,
  field,
  form,
  html,
  messageOf,
  notice,
  page,
  redirectTargets,
  seeOther,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { startCookie } from '../sessions/index.ts';
import { completeSignIn, findFirstStep } from '../sign-in/second-factor/index.ts';
import { secondStepCookie, signInDevice, UserErrors } from '../users/index.ts';
import { type AnyCall, answerForm, destination, formTargets, PATHS, withReturnTo } from './form.ts';

export const SecondFactorForm = z
  .strictObject({ code: z.string().max(100), trustDevice: z.string().max(10).optional() })
  .meta({ id: 'SecondFactorForm' });

/**
 * GET: the form for a code. The token of the first step is in a cookie. Without it, or when the sign-in has ended, for
 * example after five wrong codes, the person has to start again.
 */
export async function secondFactorPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  call: AnyCall,
  error?: LegateError,
): Promise<Response> {
  const t = textsFor(call.request);
  const token = secondStepCookie.read(platform, call.request);
  const firstStep = token ? await findFirstStep(platform, token) : undefined;
  if (!firstStep) {
    return page(platform, call.request, {
      title: t.secondFactor.title,
      status: error?.status ?? 400,
      cookies: token ? [secondStepCookie.clear(platform)] : [],
      body: html`${notice('warning', t.secondFactor.gone)}${buttonLink(
        t.secondFactor.again,
        withReturnTo(platform, call, PATHS.signIn),
      )}`,
    });
  }
  const about = error?.code === UserErrors.INVALID_CODE.code ? { field: 'code' } : {};
  const problems = error ? [{ ...about, message: messageOf(t, error) }] : [];
  return page(platform, call.request, {
    title: t.secondFactor.title,
    error,
    formTargets: [...formTargets(platform, call), ...redirectTargets(platform, firstStep.callbackUrl)],
    body: html`${errorSummary(t, problems)}<p>${t.secondFactor.intro}</p>${form(
      call.url,
      html`${field(
        t,
        {
          name: 'code',
          label: t.secondFactor.code,
          hint: t.secondFactor.hint,
          autocomplete: 'one-time-code',
          code: true,
          maxlength: 64,
          autofocus: true,
        },
        problems,
      )}
${checkbox({ name: 'trustDevice', label: t.secondFactor.trust })}
${actions(button({ label: t.secondFactor.submit }))}`,
    )}<p><a href="${withReturnTo(platform, call, PATHS.signIn)}">${t.secondFactor.again}</a></p>`,
  });
}

/** POST: accepts a code of the app or a backup code and completes the sign-in. */
export const secondFactorForm = (
  platform: Platform,
  call: AnyCall & { readonly body: z.output<typeof SecondFactorForm> },
): Promise<Response> =>
  answerForm(
    platform,
    call,
    async () => {
      const twoFactorToken = secondStepCookie.read(platform, call.request);
      const code = call.body.code.replace(/\s/g, '');
      if (twoFactorToken === undefined || code === '') throw UserErrors.INVALID_CODE({ reason: 'second-step-unknown' });
      const { token, rememberMe, deviceCookie, cookies, callbackUrl } = await completeSignIn(
        platform,
        { code, twoFactorToken, trustDevice: call.body.trustDevice !== undefined },
        signInDevice(platform, call),
      );
      return seeOther(callbackUrl ?? destination(platform, call), startCookie(platform, token, rememberMe), [
        secondStepCookie.clear(platform),
        ...cookies,
        ...(deviceCookie === undefined ? [] : [deviceCookie]),
      ]);
    },
    (error) => secondFactorPage(platform, call, error),
  );
