import { de } from './de.ts';
import { en, type Texts } from './en.ts';

/** The texts in the language of the page. Changing the language reloads the page. */
export const t: Texts = document.documentElement.lang === 'de' ? de : en;
