import {
  bannerOf,
  brandOf,
  chosenLanguageCookie,
  html,
  languageOf,
  pathOf,
  type Site,
  textsFor,
} from '../pages/index.ts';
import { findAssets } from './assets.ts';

/**
 * Content Security Policy of the console. `'self'` alone would also run the answers of the API as scripts. The address
 * of the request is allowed next to the public one, for people who open the service by another name of its host.
 */
function policy(site: Site, url: URL): string {
  const path = pathOf(site, '/console/assets/');
  const scripts = [...new Set([new URL(site.baseUrl).origin, url.origin])].map((origin) => origin + path);
  return [
    "default-src 'none'",
    `script-src ${scripts.join(' ')}`,
    "style-src 'self'",
    "style-src-attr 'none'",
    "font-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/** Returns the page that loads the console. All its addresses get the same page. */
export function shell(
  site: Site & { readonly config: { readonly http: { readonly basePath: string } } },
  request: Request,
  url: URL,
): Response {
  const built = findAssets();
  const { console: t } = textsFor(request);
  const at = (file: string): string => pathOf(site, `/console/${file}`);
  const language = languageOf(request);
  const document = html`<!doctype html>
<html lang="${language}" data-rest="${pathOf(site, '')}" data-base="${site.config.http.basePath}"
data-brand="${brandOf(site)}" data-banner="${bannerOf(site, language) ?? ''}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${t.title} – ${brandOf(site)}</title>${built && html`<link rel="icon" href="${at(built.entry.icon)}">`}${
    built &&
    html`${built.entry.styles.map(
      (file) => html`<link rel="stylesheet" href="${at(file)}">`,
    )}<script type="module" src="${at(built.entry.script)}"></script>`
  }</head>
<body><div id="console">${
    built ? html`<noscript>${t.needsScripts}</noscript>` : html`<p>${t.notBuilt}</p>`
  }</div></body></html>
`;
  const headers = new Headers({
    'content-type': 'text/html; charset=utf-8',
    'content-language': language,
    'cache-control': 'no-store',
    vary: 'Accept-Language, Cookie',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'content-security-policy': policy(site, url),
  });
  const cookie = chosenLanguageCookie(site, request);
  if (cookie) headers.append('set-cookie', cookie);
  return new Response(document.toString(), { headers });
}
