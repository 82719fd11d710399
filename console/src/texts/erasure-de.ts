import type { ErasureTexts } from './erasure-en.ts';
import { deNumber } from './numbers.ts';

export const erasureDe: ErasureTexts = {
  erase: 'Löschen',
  eraseEntryQuestion: 'Parameter, Adresse und User-Agent dieser Entscheidung löschen?',
  eraseEntryText:
    'Das lässt sich nicht rückgängig machen. Agent, Aktion, Ergebnis und Zeit bleiben erhalten und weiterhin ' +
    'beweisbar. Backups, Exporte und herausgegebene Beweise werden nicht gelöscht.',
  erasePerson: 'Person löschen',
  erasePersonQuestion: (name) => `${name} löschen und die personenbezogenen Daten aus dem Protokoll entfernen?`,
  erasePersonText:
    'Das Konto wird gelöscht, die Agenten werden widerrufen. Aus dem Protokoll werden Parameter, Adressen und ' +
    'User-Agents ihrer Entscheidungen sowie alle Ereignisse über die Person gelöscht. Das lässt sich nicht ' +
    'rückgängig machen. Backups, Exporte und herausgegebene Beweise werden nicht gelöscht.',
  willErase: (n) =>
    n === 1
      ? 'Parameter, Adresse und User-Agent von 1 Entscheidung werden gelöscht.'
      : `Parameter, Adressen und User-Agents von ${deNumber(n)} Entscheidungen werden gelöscht.`,
  erased: 'Gelöscht',
  erasedEntry:
    'Parameter, Adresse und User-Agent dieser Entscheidung wurden gelöscht. Agent, Aktion, Ergebnis und Zeit lassen ' +
    'sich weiterhin beweisen.',
  erasedOnPage: (n) =>
    n === 1
      ? 'Parameter, Adresse und User-Agent von 1 Entscheidung auf dieser Seite wurden gelöscht.'
      : `Parameter, Adressen und User-Agents von ${n} Entscheidungen auf dieser Seite wurden gelöscht.`,
};
