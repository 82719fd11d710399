import { form } from './components.ts';
import { attributes, type Html, html } from './html.ts';
import { pathOf, type Site } from './site.ts';
import type { Texts } from './texts/en.ts';

/** The signed-in user, as shown on pages. */
export interface PagePerson {
  /** E-mail address, or the id of a user of the embedding application. */
  readonly name: string;
  /** The user has a session, which a page can end. */
  readonly canSignOut: boolean;
}

/** The account pages in the order of their navigation. Paths are relative to http.restPath. */
const ACCOUNT_PAGES: readonly {
  readonly path: string;
  /** Label in the navigation. */
  readonly label: (t: Texts) => string;
  readonly title: (t: Texts) => string;
  /** Purpose of the page, shown on the account page; that page itself has none. */
  readonly purpose?: (t: Texts) => string;
  /** Of no use to users of the embedding application, who have no credentials here. */
  readonly ownAccount?: boolean;
  /** Whether the page is useful in this service. Default: true. */
  readonly when?: (site: Site) => boolean;
}[] = [
  { path: '/account', label: (t) => t.account.label, title: (t) => t.account.title },
  {
    path: '/account/devices',
    label: (t) => t.devices.label,
    title: (t) => t.devices.title,
    purpose: (t) => t.account.devices,
  },
  {
    path: '/account/two-factor',
    label: (t) => t.twoFactor.label,
    title: (t) => t.twoFactor.title,
    purpose: (t) => t.twoFactor.purpose,
    ownAccount: true,
  },
  {
    path: '/account/passkeys',
    label: (t) => t.passkeys.label,
    title: (t) => t.passkeys.title,
    purpose: (t) => t.passkeys.purpose,
    ownAccount: true,
  },
  {
    path: '/account/connections',
    label: (t) => t.identities.label,
    title: (t) => t.identities.title,
    purpose: (t) => t.identities.purpose,
    ownAccount: true,
  },
  {
    path: '/account/password',
    label: (t) => t.password.label,
    title: (t) => t.password.title,
    purpose: (t) => t.password.purpose,
    ownAccount: true,
    when: ({ config }) => config.users?.passwords !== 'off',
  },
  {
    path: '/account/tokens',
    label: (t) => t.tokens.label,
    title: (t) => t.tokens.title,
    purpose: (t) => t.tokens.purpose,
  },
  {
    path: '/account/servers',
    label: (t) => t.connections.label,
    title: (t) => t.connections.title,
    purpose: (t) => t.connections.purpose,
    when: ({ config }) =>
      Object.values(config.gateway?.servers ?? {}).some(({ legate }) =>
        /^(userSecret|oauth)$/.test(legate?.auth?.type ?? ''),
      ),
  },
  { path: '/account/apps', label: (t) => t.apps.label, title: (t) => t.apps.title, purpose: (t) => t.account.apps },
];

const SIGN_OUT = '/account/sign-out';

/** Name and sign-out button in the header. */
export const personInHeader = (site: Site, t: Texts, person: PagePerson): Html =>
  html`<div class="person"><span>${person.name}</span>${
    person.canSignOut &&
    form(pathOf(site, SIGN_OUT), html`<button class="plain" type="submit">${t.common.signOut}</button>`)
  }</div>`;

/** Returns the account pages that are of use to a person. */
export const accountPagesFor = (site: Site, person: PagePerson | undefined) =>
  ACCOUNT_PAGES.filter(
    ({ ownAccount, when }) => (!ownAccount || person?.canSignOut) && (when === undefined || when(site)),
  );

/** Navigation of the account pages; `here` is the path of the current one. */
export const accountNav = (site: Site, t: Texts, here: string, person: PagePerson | undefined): Html =>
  html`<nav class="pages" aria-label="${t.account.title}"><ul>${accountPagesFor(site, person).map(({ path, label }) => {
    const at = pathOf(site, path);
    return html`<li><a${attributes({
      href: at,
      'aria-current': at === here ? 'page' : undefined,
    })}>${label(t)}</a></li>`;
  })}</ul></nav>`;
