import type { LegateError } from '../../kernel/errors.ts';
import {
  actions,
  button,
  buttonLink,
  errorSummary,
  field,
  form,
  html,
  notice,
  page,
  pathOf,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { formProblems } from '../sign-in/form-problems.ts';

/** The form for a new password, with the problems of the last attempt. Its hidden token authorises the sender. */
export function resetFormPage(platform: Platform, request: Request, token: string, error?: LegateError): Response {
  const t = textsFor(request);
  const problems = error ? formProblems(t, error, 'newPassword') : [];
  return page(platform, request, {
    title: t.passwordReset.title,
    status: error?.status ?? 200,
    failed: error !== undefined,
    secretAddress: true,
    ...(error?.headers ? { headers: error.headers } : {}),
    body: html`${errorSummary(t, problems)}${form(
      new URL(request.url),
      html`${field(t, { name: 'newPassword', label: t.passwordReset.newPassword, type: 'password', autocomplete: 'new-password', hint: t.common.newPasswordHint }, problems)}
${actions(button({ label: t.passwordReset.submit }))}`,
      { token },
    )}`,
  });
}

export function passwordChangedPage(
  platform: Platform,
  request: Request,
  headers: Readonly<Record<string, string>>,
): Response {
  const t = textsFor(request);
  return page(platform, request, {
    title: t.passwordReset.done,
    secretAddress: true,
    headers,
    body: html`${notice('good', t.passwordReset.doneText)}${actions(buttonLink(t.signIn.submit, pathOf(platform, '/account/sign-in'), 'primary'))}`,
  });
}

/** The page of a link in a mail: one button, so that a link scanner that opens the link changes nothing. */
export function confirmPage(
  platform: Platform,
  request: Request,
  texts: { title: string; text: string; submit: string },
  token: string,
  formTargets: readonly string[] = [],
): Response {
  return page(platform, request, {
    title: texts.title,
    secretAddress: true,
    formTargets,
    body: html`<p>${texts.text}</p>${form(new URL(request.url), actions(button({ label: texts.submit })), { token })}`,
  });
}

/** The page after a link was used, with a link to the next step. */
export function donePage(
  platform: Platform,
  request: Request,
  texts: { done: string; doneText: string },
  o: { next: 'account' | 'sign-in' | 'set-password'; cookies?: readonly string[] },
): Response {
  const t = textsFor(request);
  const next = {
    account: { label: t.start.account, path: '/account' },
    'sign-in': { label: t.signIn.submit, path: '/account/sign-in' },
    'set-password': { label: t.verifyEmail.setPassword, path: '/account/forgot-password' },
  }[o.next];
  return page(platform, request, {
    title: texts.done,
    secretAddress: true,
    cookies: o.cookies ?? [],
    body: html`${notice('good', texts.doneText)}${o.next === 'set-password' && html`<p>${t.verifyEmail.noPassword}</p>`}${actions(buttonLink(next.label, pathOf(platform, next.path), 'primary'))}`,
  });
}
