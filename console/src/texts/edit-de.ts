import type { editEn } from './edit-en.ts';
import { deNumber } from './numbers.ts';

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
  partMissing:
    'Ein Teil dieser Seite konnte nicht geladen werden. Noch einmal versuchen oder die Seite neu laden; Ihre ' +
    'Eingaben bleiben erhalten.',
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
  changedMeanwhile:
    'Jemand anderes hat das inzwischen geändert. Laden Sie es neu; was Sie eingegeben haben, bleibt stehen.',
  notSaved: (fields) => `Nicht gespeichert. Bitte prüfen Sie: ${fields.join(', ')}.`,
  needsToken: 'Clients brauchen ein Token',
  messageFormat: 'Format der Nachrichten',
  messageFormats: { json: 'JSON (Standard Webhooks)', slack: 'Slack', teams: 'Microsoft Teams', discord: 'Discord' },
  webhookFilterHint: 'Wie im Protokoll, etwa result:denied -agent:agt_...; leer: kein Filter',
  notFilters: (words) => `Diese Wörter sind keine Filter: ${words}`,
  currency: 'Währung',
  currencyHint: 'Drei Buchstaben wie EUR; leer: USD',
  slug: 'Kurzname',
  slugHint: 'Kleinbuchstaben, Ziffern und Bindestriche; leer: aus dem Namen gebildet',
  removeTenantText: 'Ein Mandant lässt sich löschen, wenn ihm niemand angehört.',
  userTenantHint: 'Die Agenten ziehen mit um; Delegationen zwischen ihnen und den Agenten anderer Inhaber enden.',
  expiresNewHint: 'Leer: nie',
  expiresHint: 'Leer: nie. Ein späterer Zeitpunkt macht einen abgelaufenen Agenten wieder aktiv.',
  metadata: 'Metadaten',
  metadataHint: 'Ein eigenes JSON-Objekt',
  findPermission: 'Berechtigungen nach Ressource oder Aktion suchen',
  pageEmpty: 'Auf dieser Seite steht nichts mehr.',
  noSuchPage: 'Die Adresse nennt eine Seite, die es in dieser Liste nicht gibt.',
  previousPage: 'Vorige Seite',
  permissionsShown: (from, to, of) => `${deNumber(from)} bis ${deNumber(to)} von ${deNumber(of)}`,
  rowsShown: (n, of) => `${deNumber(n)} von ${deNumber(of)} sind zu sehen.`,
  showMore: 'Mehr zeigen',
  unfold: (n, name) => `${n === 1 ? 'Einen weiteren' : `${n} weitere`} nach ${name} zeigen`,
  fold: (name) => `Ausblenden, was auf ${name} folgt`,
  folded: (n, of) =>
    `${deNumber(n)} von ${deNumber(of)} Agenten und Personen sind gezeichnet. Eine Zahl öffnet, was folgt.`,
  anomaliesOf: (name) => `Auffälligkeiten von ${name}`,
  decisionCount: (n) => (n === 1 ? '1 Entscheidung' : `${deNumber(n)} Entscheidungen`),
  fixtures: 'Tests aus einer Datei',
  fixturesHint:
    'Eine Datei für legate test, als YAML oder JSON. Jeder Test ist ein Probelauf mit dem Agenten dieses Namens; ' +
    'Berechtigungen in der Datei gelten statt seiner eigenen.',
  fixtureFile: 'Testdatei',
  addTest: 'Diese Frage zu den Tests nehmen',
  runTests: (n) => (n === 1 ? '1 Test ausführen' : `${n} Tests ausführen`),
  exportTests: 'Tests exportieren',
  testsRun: (passed, failed, skipped) => `${passed} wie erwartet, ${failed} anders, ${skipped} nicht ausgeführt.`,
  testsNotShown: (n) =>
    n === 1
      ? 'Ein weiterer Test wird ausgeführt, aber nicht gezeigt.'
      : `${n} weitere Tests werden ausgeführt, aber nicht gezeigt.`,
  expected: 'Erwartet',
  question: 'Frage',
  needsCounters: 'Nicht ausgeführt: Der Test braucht Aufrufe davor (after). Dafür gibt es legate test.',
  needsDelegations:
    'Nicht ausgeführt: Der Agent hat seine Berechtigungen in der Datei durch Delegation. Dafür gibt es legate test.',
  needsPolicy: 'Nicht ausgeführt: Die Berechtigungen stehen in einer anderen Datei. Dafür gibt es legate test.',
  agentsNamed: (n) =>
    n === 0
      ? 'Nicht ausgeführt: Kein aktiver Agent hat diesen Namen.'
      : `Nicht ausgeführt: ${n} Agenten haben diesen Namen.`,
  chooseOne: 'Wählen Sie mindestens eines.',
};
