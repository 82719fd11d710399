import { readCookie } from '../access/session-cookie.ts';
import { de } from './texts/de.ts';
import { en, type Texts } from './texts/en.ts';

const CATALOGUE = { en, de } as const satisfies Record<string, Texts>;
export type Language = keyof typeof CATALOGUE;
/** Every language there is, by its own name. */
export const LANGUAGES: readonly { readonly code: Language; readonly name: string }[] = Object.entries(CATALOGUE).map(
  ([code, { languageName }]) => ({
    code: code as Language,
    name: languageName,
  }),
);

const isLanguage = (code: string | null | undefined): code is Language =>
  typeof code === 'string' && Object.hasOwn(CATALOGUE, code);

/** Cookie that remembers a language that was chosen by hand. */
export const LANGUAGE_COOKIE = 'lang';

/** Language of the answer: `?lang=`, else what was chosen before, else the best of Accept-Language, else English. */
export function languageOf(request: Request): Language {
  const chosen = chosenLanguage(request);
  if (chosen) return chosen;
  const kept = readCookie(request.headers.get('cookie'), LANGUAGE_COOKIE);
  return isLanguage(kept) ? kept : accepted(request.headers.get('accept-language'));
}

/** The language that `?lang=` asks for, when it is one that we have. */
export function chosenLanguage(request: Request): Language | undefined {
  const asked = new URL(request.url).searchParams.get('lang');
  return isLanguage(asked) ? asked : undefined;
}

/** The texts for whoever reads the answer to this request. */
export const textsFor = (request: Request): Texts => CATALOGUE[languageOf(request)];

/** RFC 9110, section 12.5.4: by weight, then by order; `de-AT` is served in German (lookup, RFC 4647, section 3.4). */
function accepted(header: string | null): Language {
  let best: { code: Language; weight: number } = { code: 'en', weight: 0 };
  for (const range of (header ?? '').slice(0, 1000).split(',')) {
    const [tag = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    const code = tag.split('-')[0];
    if (isLanguage(code) && weight > best.weight && weight <= 1) best = { code, weight };
  }
  return best.code;
}
