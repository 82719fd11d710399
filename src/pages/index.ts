/**
 * The design system of the server-rendered pages: no scripts but those of passkeys, strict CSP, light and dark, from
 * 320 px, English and German.
 *
 * A page is a route with `page: true` (src/http/route.ts). Then
 *  - its errors are pages too, for clients that accept HTML or send a form;
 *  - 401, from `access: 'user'` or `call.requireUser()` on a public page, redirects to the sign-in page and back;
 *  - a form is refused if a browser sent it from another site.
 *
 *     handle: (call, platform) => {
 *       const t = textsFor(call.request);
 *       return page(platform, call.request, {
 *         title: t.setup.title,
 *         error: tried?.error,
 *         formTargets: [redirectUri],
 *         body: html`${errorSummary(t, problems)}${form(call.url, html`
 *           ${field(t, { name: 'email', label: t.common.email, type: 'email', value: typed.email }, problems)}
 *           ${actions(button({ label: t.x.deny, name: 'decision', value: 'deny', kind: 'secondary' }), ...)}
 *         `, { handle })}`,
 *       });
 *     }
 *
 * After a change: `seeOther(path)`. Texts are in texts/en.ts and texts/de.ts; a text missing in one does not compile.
 */

export { accountPagesFor, type PagePerson } from './account-nav.ts';
export {
  actions,
  badge,
  button,
  buttonLink,
  card,
  checkbox,
  details,
  errorSummary,
  facts,
  field,
  form,
  group,
  list,
  notice,
  or,
  type Problem,
  radios,
  stickyActions,
  tile,
} from './components.ts';
export { assertOwnForm } from './cross-site.ts';
export { errorPage, messageOf } from './error-page.ts';
export { attributes, type Html, html } from './html.ts';
export {
  chosenLanguageCookie,
  formatTime,
  type Language,
  languageNamed,
  languageOf,
  statedLanguage,
  textsFor,
  textsIn,
} from './language.ts';
export { brandOf, page, seeOther } from './page.ts';
export { qrCode } from './qr-code.ts';
export { enrolmentLocation, redirectTargets, safeReturnTo, signInLocation } from './return-to.ts';
export { defineScript } from './script.ts';
export { bannerOf, pathOf, type Site } from './site.ts';
export type { Texts } from './texts/en.ts';
