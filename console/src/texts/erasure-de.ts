import type { ErasureTexts } from './erasure-en.ts';

export const erasureDe: ErasureTexts = {
  erase: 'Löschen',
  eraseEntryQuestion: 'Parameter, Adresse und User-Agent dieser Entscheidung löschen?',
  eraseEntryText:
    'Das lässt sich nicht rückgängig machen. Wer, was, Ergebnis und Zeit bleiben erhalten und weiterhin beweisbar. ' +
    'Backups, Exporte und herausgegebene Beweise werden nicht gelöscht.',
  erasePerson: 'Person löschen',
  erasePersonQuestion: (name) => `${name} löschen, mit allem, was das Protokoll über die Person enthält?`,
  erasePersonText:
    'Das Konto wird gelöscht, die Agenten werden widerrufen. Aus dem Protokoll werden Parameter, Adressen und ' +
    'User-Agents ihrer Entscheidungen gelöscht, und alle Ereignisse über die Person. Das lässt sich nicht rückgängig ' +
    'machen. Backups, Exporte und herausgegebene Beweise werden nicht gelöscht.',
  willErase: (n) =>
    n === 1
      ? 'Parameter, Adresse und User-Agent von 1 Entscheidung werden gelöscht.'
      : `Parameter, Adressen und User-Agents von ${n} Entscheidungen werden gelöscht.`,
  erased: 'Gelöscht',
  erasedEntry:
    'Parameter, Adresse und User-Agent dieser Entscheidung wurden gelöscht. Wer, was, Ergebnis und Zeit lassen sich ' +
    'weiter beweisen.',
  erasedOnPage: (n) =>
    n === 1
      ? 'Parameter, Adresse und User-Agent von 1 Entscheidung auf dieser Seite wurden gelöscht.'
      : `Parameter, Adressen und User-Agents von ${n} Entscheidungen auf dieser Seite wurden gelöscht.`,
};
