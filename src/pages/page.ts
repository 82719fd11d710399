import type { LegateError } from '../kernel/errors.ts';
import { accountNav, type PagePerson, personInHeader } from './account-nav.ts';
import { attributes, type Html, html, Html as Markup } from './html.ts';
import { chosenLanguageCookie, LANGUAGES, languageOf, textsFor } from './language.ts';
import type { PageScript } from './script.ts';
import { bannerOf, pathOf, type Site } from './site.ts';
import { styleOf } from './style.ts';

export interface Page {
  /** The heading and, with the name of the service, the window title. */
  readonly title: string;
  readonly body: Html;
  /** The error after which a form is shown again: it sets status, headers and `failed`. */
  readonly error?: LegateError | undefined;
  /** 200 by default. */
  readonly status?: number;
  /** The page has an error summary; the window title starts with it (WCAG 2.4.2). */
  readonly failed?: boolean;
  /** The address contains a secret, so no referrer is sent. */
  readonly secretAddress?: boolean;
  /**
   * Addresses outside this service to which a form of this page may redirect: Chromium applies `form-action` to the
   * redirect after a form too. A consent page lists the redirect_uri here.
   */
  readonly formTargets?: readonly string[];
  /** For tables: 44rem instead of 27rem, like the account pages. */
  readonly wide?: boolean;
  /** The signed-in user, shown in the header with a sign-out button. */
  readonly person?: PagePerson | undefined;
  /** One of the account pages, with links to the others. */
  readonly inAccount?: boolean;
  /** The only script of the page, which may send requests to this origin. Without it, the policy allows none. */
  readonly script?: PageScript;
  readonly headers?: Readonly<Record<string, string>>;
  /** Several Set-Cookie values. */
  readonly cookies?: readonly string[];
}

/** The logo of the service, a seal. */
const MARK = html`<svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false">
<circle cx="12" cy="12" r="11" fill="currentColor"/>
<path class="cut" d="M9 6.5v9.5h6.5" fill="none" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/>
</svg>`;

/** Renders a page in the language of the request, with headers that allow only its own style and its own forms. */
export function page(site: Site, request: Request, content: Page): Response {
  const t = textsFor(request);
  const language = languageOf(request);
  const brand = brandOf(site);
  const banner = bannerOf(site, language);
  const { error, failed = error !== undefined, status = error?.status ?? 200 } = content;
  const title = `${failed ? `${t.common.errorPrefix}: ` : ''}${content.title} – ${brand}`;
  const document = html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${title}</title><style>${Markup.trusted(styleOf(site).text)}</style></head>
<body${attributes({ class: content.wide || content.inAccount ? 'wide' : undefined })}>
${
  banner && html`<p class="banner" role="note">${banner}</p>`
}<header><a class="brand" href="${pathOf(site, '/')}">${MARK}${brand}</a>${
    content.person && personInHeader(site, t, content.person)
  }</header>
${
  content.inAccount && accountNav(site, t, new URL(request.url).pathname, content.person)
}<main><h1>${content.title}</h1>
${content.body}
</main>
<footer><nav aria-label="${t.common.language}"><ul>${LANGUAGES.map(
    ({ code, name }) =>
      html`<li>${
        code === language
          ? html`<span lang="${code}" aria-current="true">${name}</span>`
          : html`<a href="${inLanguage(request, code)}" lang="${code}" hreflang="${code}">${name}</a>`
      }</li>`,
  )}</ul></nav></footer>
${content.script?.element}</body></html>
`;
  const headers = new Headers({
    'content-type': 'text/html; charset=utf-8',
    'content-language': language,
    'cache-control': 'no-store',
    vary: 'Accept-Language, Cookie',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    // Under no-referrer browsers send `Origin: null` with a form, so pages without a secret address allow the origin.
    'referrer-policy': content.secretAddress ? 'no-referrer' : 'same-origin',
    'content-security-policy': policy(styleOf(site).source, content.formTargets ?? [], content.script),
    ...error?.headers,
    ...content.headers,
  });
  for (const cookie of content.cookies ?? []) headers.append('set-cookie', cookie);
  const chosen = chosenLanguageCookie(site, request);
  if (chosen) headers.append('set-cookie', chosen);
  return new Response(document.toString(), { status, headers });
}

/** 303 after a form: the browser fetches `to` with GET. */
export function seeOther(
  to: string,
  headers: Readonly<Record<string, string>> = {},
  cookies: readonly string[] = [],
): Response {
  const all = new Headers({ location: to, 'cache-control': 'no-store', 'referrer-policy': 'same-origin', ...headers });
  for (const cookie of cookies) all.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers: all });
}

/** Returns the display name of the service. */
export const brandOf = ({ config }: Site): string =>
  config.service.name.charAt(0).toUpperCase() + config.service.name.slice(1);

function inLanguage(request: Request, code: string): string {
  const url = new URL(request.url);
  url.searchParams.set('lang', code);
  return url.search;
}

const policy = (style: string, targets: readonly string[], script: PageScript | undefined): string =>
  `default-src 'none'; ${script ? `script-src ${script.source}; connect-src 'self'; ` : ''}style-src ${style}; ` +
  `font-src 'self'; form-action ${["'self'", ...new Set(targets.map(sourceOf))].join(' ')}; base-uri 'none'; ` +
  "frame-ancestors 'none'";

/**
 * Returns the narrowest source expression for an address: its origin, or its scheme if CSP supports no other (IPv6
 * literals, `app:/callback`, and hosts with characters that would end the expression).
 */
function sourceOf(address: string): string {
  const { protocol, origin, hostname } = new URL(address);
  return (protocol === 'http:' || protocol === 'https:') && /^[a-z0-9._-]+$/i.test(hostname) ? origin : protocol;
}
