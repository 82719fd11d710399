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

interface Tried {
  readonly error: LegateError;
  readonly email: string;
}

/** The form, with the problems of the last attempt. Its hidden token authorises the sender. */
export function setupFormPage(site: Site, request: Request, token: string, tried?: Tried): Response {
  const t = textsFor(request);
  const problems = tried ? formProblems(t, tried.error) : [];
  return page(site, request, {
    title: t.setup.title,
    error: tried?.error,
    secretAddress: true,
    body: html`${errorSummary(t, problems)}${form(
      new URL(request.url),
      html`${field(
        t,
        { name: 'email', label: t.common.email, type: 'email', autocomplete: 'username', value: tried?.email },
        problems,
      )}
${field(
  t,
  {
    name: 'password',
    label: t.common.password,
    type: 'password',
    autocomplete: 'new-password',
    hint: t.common.newPasswordHint,
  },
  problems,
)}
${actions(button({ label: t.setup.submit }))}`,
      { token },
    )}`,
  });
}

export function setupDonePage(
  site: Site & { readonly config: { readonly console: { readonly enabled: boolean } } },
  request: Request,
  email: string,
  headers: Record<string, string>,
): Response {
  const t = textsFor(request);
  return page(site, request, {
    title: t.setup.done,
    body: html`${notice('good', t.setup.doneText(email))}${actions(
      ...(site.config.console.enabled ? [buttonLink(t.console.open, pathOf(site, '/console'), 'primary')] : []),
      buttonLink(t.start.account, pathOf(site, '/account'), site.config.console.enabled ? 'secondary' : 'primary'),
    )}`,
    headers,
    secretAddress: true,
  });
}
