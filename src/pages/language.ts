import { readCookie, setCookie } from '../access/session-cookie.ts';
import type { Site } from './site.ts';
import { de } from './texts/de.ts';
import { en, type Texts } from './texts/en.ts';

const CATALOGUE = { en, de } as const satisfies Record<string, Texts>;
export type Language = keyof typeof CATALOGUE;
/** All languages, each with its own name. */
export const LANGUAGES: readonly { readonly code: Language; readonly name: string }[] = Object.entries(CATALOGUE).map(
  ([code, { languageName }]) => ({
    code: code as Language,
    name: languageName,
  }),
);

const isLanguage = (code: string | null | undefined): code is Language =>
  typeof code === 'string' && Object.hasOwn(CATALOGUE, code);

/** Cookie with the language that the user chose. */
export const LANGUAGE_COOKIE = 'lang';

/**
 * Returns the language of the answer: `?lang=`, else the language chosen before, else that requested by an application
 * (`ui_locales`), else the best of Accept-Language, else English.
 */
export const languageOf = (request: Request): Language => statedLanguage(request) ?? FALLBACK;

/** Like {@link languageOf}, but returns undefined if the request states no available language. */
export function statedLanguage(request: Request): Language | undefined {
  const chosen = chosenLanguage(request);
  if (chosen) return chosen;
  const kept = readCookie(request.headers.get('cookie'), LANGUAGE_COOKIE);
  if (isLanguage(kept)) return kept;
  const header = request.headers.get('accept-language');
  return wishOf(request) ?? accepted(header ?? '');
}

const FALLBACK: Language = 'en';

/** Returns a stored language if it is available, else English. */
export const languageNamed = (code: string | null): Language => (isLanguage(code) ? code : FALLBACK);

/** Returns the language of `?lang=` if it is available. */
export function chosenLanguage(request: Request): Language | undefined {
  const asked = new URL(request.url).searchParams.get('lang');
  return isLanguage(asked) ? asked : undefined;
}

const LANGUAGE_COOKIE_SECONDS = 365 * 86_400;

/** Returns a Set-Cookie value that keeps the language of `?lang=`; undefined if the address has none. */
export function chosenLanguageCookie({ baseUrl }: Site, request: Request): string | undefined {
  const chosen = chosenLanguage(request);
  return chosen && setCookie(baseUrl, LANGUAGE_COOKIE, chosen, LANGUAGE_COOKIE_SECONDS);
}

/**
 * Returns the first available language of `ui_locales` (OpenID Connect Core 1.0, section 3.1.2.1): that of the
 * authorization request itself or of the one in the page's `returnTo`.
 */
function wishOf(request: Request): Language | undefined {
  const { searchParams } = new URL(request.url);
  const returnTo = searchParams.get('returnTo') ?? '';
  const wish =
    searchParams.get('ui_locales') ?? new URLSearchParams(returnTo.slice(returnTo.indexOf('?') + 1)).get('ui_locales');
  return (wish ?? '')
    .slice(0, 1000)
    .split(' ')
    .map((tag) => tag.toLowerCase().split('-')[0])
    .find((code): code is Language => isLanguage(code));
}

/**
 * Formats a time for the browser's region: 22 Nov 2026 in Britain, Nov 22, 2026 in America. A region applies only if
 * it is one of the page's language.
 */
export function formatTime(request: Request, ms: number, style: 'date' | 'minute'): string {
  const written = new Intl.DateTimeFormat(regionOf(request), {
    dateStyle: 'medium',
    ...(style === 'minute' ? { timeStyle: 'short' } : {}),
    timeZone: 'UTC',
  }).format(ms);
  return style === 'minute' ? `${written} UTC` : written;
}

function regionOf(request: Request): string {
  const language = languageOf(request);
  const tags = (request.headers.get('accept-language') ?? '').slice(0, 1000).split(',');
  const own = tags
    .map((range) => (range.split(';')[0] ?? '').trim())
    .find((tag) => tag.toLowerCase().split('-')[0] === language && /^[a-z]{2}-[a-z]{2}$/i.test(tag));
  return own ?? language;
}

/** Returns the texts in the language of the answer. */
export const textsFor = (request: Request): Texts => textsIn(languageOf(request));

export const textsIn = (language: Language): Texts => CATALOGUE[language];

/** RFC 9110, section 12.5.4: by weight, then by order. `de-AT` selects German (lookup, RFC 4647, section 3.4). */
function accepted(header: string): Language | undefined {
  let best: { code: Language | undefined; weight: number } = { code: undefined, weight: 0 };
  for (const range of header.slice(0, 1000).split(',')) {
    const [tag = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    const code = tag.split('-')[0];
    if (isLanguage(code) && weight > best.weight && weight <= 1) best = { code, weight };
  }
  return best.code;
}
