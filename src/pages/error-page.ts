import { CommonErrors, type LegateError } from '../kernel/errors.ts';
import { actions, buttonLink, notice } from './components.ts';
import { html } from './html.ts';
import { textsFor } from './language.ts';
import { page } from './page.ts';
import { pathOf, type Site } from './site.ts';
import type { Texts } from './texts/en.ts';

/**
 * Returns the text of an error in the user's language; the declared English message if the catalogue has none for its
 * code.
 */
export const messageOf = (t: Texts, error: LegateError): string =>
  Object.hasOwn(t.codes, error.code) ? t.codes[error.code as keyof Texts['codes']] : error.message;

/** A link to continue from an error. */
export interface NextStep {
  readonly label: string;
  /** Relative to http.restPath. */
  readonly path: string;
}

/** Renders an error as a page, with its status and headers and a link to continue: to the start page by default. */
export function errorPage(site: Site, request: Request, error: LegateError, wayOn?: NextStep): Response {
  const t = textsFor(request);
  const { title, text } = describe(t, error);
  const { label, path } = wayOn ?? { label: t.errors.toStart, path: '/' };
  const id = error.details?.['id'];
  return page(site, request, {
    title,
    status: error.status,
    body: html`${notice('error', text)}${
      typeof id === 'string' ? html`<p class="quiet">${t.errors.reference(id)}</p>` : undefined
    }${actions(buttonLink(label, pathOf(site, path)))}`,
    secretAddress: true,
    ...(error.headers ? { headers: error.headers } : {}),
  });
}

function describe(t: Texts, error: LegateError): { title: string; text: string } {
  const text = messageOf(t, error);
  if (error.code === CommonErrors.INTERNAL_ERROR.code)
    return { title: t.errors.internal, text: t.errors.unavailableText };
  if (error.details?.['reason'] === 'CROSS_SITE_FORM') return { title: t.errors.forbidden, text: t.errors.otherSite };
  if (error.status === 429) {
    const seconds = Number(error.headers?.['retry-after']);
    return { title: t.errors.tooMany, text: seconds > 0 ? t.errors.tooManyText(seconds) : text };
  }
  if (error.status === 403) return { title: t.errors.forbidden, text };
  if (error.status === 404) return { title: t.errors.notFound, text };
  if (error.status === 503) return { title: t.errors.unavailable, text };
  return { title: t.errors.title, text };
}
