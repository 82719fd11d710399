import type { editEn } from './edit-en.ts';

/** The German texts of selections, of the permission editor and of forms that change existing things. */
export const editDe: typeof editEn = {
  select: 'Auswahl',
  selectAgent: (name) => `${name} auswählen`,
  selectPage: 'Alle auf dieser Seite',
  selectedCount: (n) => `${n} ausgewählt`,
  selectedMost: 'Mehr als 100 lassen sich nicht auf einmal widerrufen.',
  clearSelection: 'Auswahl aufheben',
  revokeSelected: 'Ausgewählte widerrufen',
  agentCount: (n) => (n === 1 ? '1 Agent' : `${n} Agenten`),
  revokeSeveral: (n) => (n === 1 ? '1 Agent widerrufen?' : `${n} Agenten widerrufen?`),
  removeWord: (word) => `${word} entfernen`,
  segment: (n) => `Abschnitt ${n}`,
  draftProblems: (n) =>
    n === 1 ? 'Der Dienst würde diesen Entwurf ablehnen.' : `Der Dienst würde diesen Entwurf ablehnen: ${n} Fehler.`,
  asJson: 'Alle Berechtigungen als JSON',
  asJsonHint: 'Die Felder und das JSON zeigen immer dieselben Berechtigungen.',
  argPatterns: 'Erlaubte Argumente',
  argPatternsHint:
    'Muster wie /srv/notes/**, jeweils mit der Eingabetaste bestätigt. Jeder Text in den Argumenten muss zu einem ' +
    'passen.',
  onlyAtTimes: 'Nur zu bestimmten Zeiten',
  windowStart: 'Von',
  windowEnd: 'Bis',
  timeZone: 'Zeitzone',
  onDays: 'An diesen Tagen (ohne Auswahl: an jedem Tag)',
  dayNames: { mon: 'Mo', tue: 'Di', wed: 'Mi', thu: 'Do', fri: 'Fr', sat: 'Sa', sun: 'So' },
  fieldProblems: {
    resource:
      'Die Ressource besteht aus Abschnitten, getrennt durch Doppelpunkte. Ein Stern ersetzt immer einen ganzen ' +
      'Abschnitt.',
    actions: 'Geben Sie mindestens eine Aktion ein.',
    maxCallsPerHour: 'Die Zahl der Aufrufe pro Stunde muss eine ganze Zahl ab 0 sein.',
    ipAllowlist: 'Ein Eintrag ist weder eine Adresse noch ein Bereich wie 192.0.2.0/24.',
    allowedArgPatterns: 'Ein Muster für Argumente ist leer oder zu lang.',
    timeWindow: 'Das Zeitfenster braucht Beginn, Ende und eine gültige Zeitzone.',
  },
  writtenBy: 'geschrieben von',
};
