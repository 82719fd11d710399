import type { editEn } from './edit-en.ts';

/** The German texts of selections, of the permission editor and of forms that change what exists. */
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
  asJsonHint: 'Felder und JSON zeigen dasselbe, gleich wo Sie ändern.',
  argPatterns: 'Erlaubte Argumente',
  argPatternsHint:
    'Muster wie /srv/notes/**, jedes mit der Eingabetaste. Jeder Text der Argumente muss auf eines passen.',
  onlyAtTimes: 'Nur zu bestimmten Zeiten',
  windowStart: 'Von',
  windowEnd: 'Bis',
  timeZone: 'Zeitzone',
  onDays: 'An diesen Tagen; keiner: an jedem',
  dayNames: { mon: 'Mo', tue: 'Di', wed: 'Mi', thu: 'Do', fri: 'Fr', sat: 'Sa', sun: 'So' },
  fieldProblems: {
    resource:
      'Die Ressource besteht aus Abschnitten mit Doppelpunkten. Ein Stern steht nur für einen ganzen Abschnitt.',
    actions: 'Mindestens eine Aktion muss da sein.',
    maxCallsPerHour: 'Die Aufrufe pro Stunde sind eine ganze Zahl ab 0.',
    ipAllowlist: 'Eine Adresse ist keine, oder kein Bereich wie 192.0.2.0/24.',
    allowedArgPatterns: 'Ein Muster für Argumente ist leer oder zu lang.',
    timeWindow: 'Die Zeiten brauchen Anfang, Ende und eine Zeitzone, die es gibt.',
  },
  writtenBy: 'geschrieben von',
};
