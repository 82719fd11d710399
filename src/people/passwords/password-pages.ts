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
  type Site,
  textsFor,
} from '../../pages/index.ts';
import { formProblems } from '../sign-in/form-problems.ts';

/** The form for a new password, with the problems of the last attempt. Its hidden token authorises the sender. */
export function resetFormPage(site: Site, request: Request, token: string, error?: LegateError): Response {
  const t = textsFor(request);
  const problems = error ? formProblems(t, error, 'newPassword') : [];
  return page(site, request, {
    title: t.passwordReset.title,
    error,
    secretAddress: true,
    body: html`${errorSummary(t, problems)}${form(
      new URL(request.url),
      html`${field(
        t,
        {
          name: 'newPassword',
          label: t.passwordReset.newPassword,
          type: 'password',
          autocomplete: 'new-password',
          hint: t.common.newPasswordHint,
        },
        problems,
      )}
${actions(button({ label: t.passwordReset.submit }))}`,
      { token },
    )}`,
  });
}

export function passwordChangedPage(site: Site, request: Request, headers: Readonly<Record<string, string>>): Response {
  const t = textsFor(request);
  return page(site, request, {
    title: t.passwordReset.done,
    secretAddress: true,
    headers,
    body: html`${notice('good', t.passwordReset.doneText)}${actions(
      buttonLink(t.signIn.submit, pathOf(site, '/account/sign-in'), 'primary'),
    )}`,
  });
}

/**
 * The page of a link in a mail: one button, so that a link scanner that opens the link changes nothing.
 * @param endsCredentials whether the button ends what was set up on the account, which the page then states
 */
export function confirmPage(
  site: Site,
  request: Request,
  texts: { title: string; text: string; submit: string },
  token: string,
  o: { readonly formTargets: readonly string[]; readonly endsCredentials: boolean },
): Response {
  return page(site, request, {
    title: texts.title,
    secretAddress: true,
    formTargets: o.formTargets,
    body: html`<p>${texts.text}</p>${
      o.endsCredentials && notice('warning', textsFor(request).verifyEmail.endsCredentials)
    }${form(new URL(request.url), actions(button({ label: texts.submit })), { token })}`,
  });
}

/** The page after a link was used, with a link to the next step. */
export function donePage(
  site: Site,
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
  return page(site, request, {
    title: texts.done,
    secretAddress: true,
    cookies: o.cookies ?? [],
    body: html`${notice('good', texts.doneText)}${
      o.next === 'set-password' && html`<p>${t.verifyEmail.noPassword}</p>`
    }${actions(buttonLink(next.label, pathOf(site, next.path), 'primary'))}`,
  });
}
