import type { actsEn } from './acts-en.ts';
import { deNumber, timeLeft } from './numbers.ts';

/** The German texts of actions on the screens. */
export const actsDe: typeof actsEn = {
  timeLeft: (seconds) => `noch ${timeLeft(seconds, (days) => (days === 1 ? '1 Tag' : `${days} Tage`))}`,
  makeRule: 'Immer erlauben',
  decidedElsewhere: 'Ihre Antwort kam zu spät. Über die Anfrage war schon entschieden, oder sie ist abgelaufen:',
  allowFromNow: 'Ab jetzt erlauben',
  saveTest: 'Als Test sichern',
  noTest: 'Die Bedingungen einer Kette von Delegationen lassen sich in einer Testdatei nicht ausdrücken.',
  print: 'Drucken',
  may: (actions, resource) => `Darf ${actions} auf ${resource}`,
  nothingChanges: 'Die Berechtigungen bleiben, wie sie sind.',
  typeName: (name) => `Auch andere Agenten verlieren Berechtigungen. Geben Sie zur Bestätigung ${name} ein.`,
  chooseSpan: 'Zeitraum wählen',
  spanFrom: 'Anfang des Zeitraums',
  spanTo: 'Ende des Zeitraums',
  showSpan: 'Diesen Zeitraum zeigen',
  exportAs: (format) => `${format} exportieren`,
  follow: 'Neue Entscheidungen mitlesen',
  newDecisions: 'Neue Entscheidungen',
  pause: 'Anhalten',
  goOn: 'Weiter',
  perSecond: (n) => `${n} pro Sekunde`,
  skipped: (n) => `${n} übersprungen`,
  tailEmpty: 'Noch nichts Neues. Entscheidungen erscheinen hier, sobald sie aufgezeichnet sind.',
  could: 'Was könnte er tun?',
  couldHint: 'Jedes Feld ist ein Probelauf mit den aktuellen Berechtigungen. Nichts wird aufgezeichnet oder gezählt.',
  couldNothing: 'Es sind keine Werkzeuge registriert, und der Agent hat in den letzten 30 Tagen nichts angefragt.',
  couldLeft: (n) =>
    n === 1
      ? 'Eine weitere Ressource ist nicht aufgeführt.'
      : `${deNumber(n)} weitere Ressourcen sind nicht aufgeführt.`,
  left: (n) => `Ja, noch ${deNumber(n)} in dieser Stunde`,
  yes: 'Ja',
  no: 'Nein',
  narrowing: (from, to) => `Was ${from} an ${to} weitergibt`,
  picture: 'Als Bild',
  heldBy: 'Berechtigungen von',
  passes: 'Weitergegeben',
  arrives: 'Wirksam für',
  noEffect: (from) => `Ohne Wirkung: ${from} hat diese Berechtigung jetzt nicht`,
  ifRevoked: 'Folgen eines Widerrufs',
  nothingHere: 'Nichts.',
  notYours: 'Dieser Agent gehört jemand anderem.',
  circumstances: 'Adresse, Zeit und Entwurf der Berechtigungen',
  atTime: 'Zu dieser Zeit',
  draftPermissions: 'Entwurf der Berechtigungen als JSON',
  draftHint: 'Nur für diese Frage, statt der eigenen Berechtigungen des Agenten',
  would: {
    allowed: (name, action, resource) => `${name} dürfte: ${action} ${resource}.`,
    denied: (name, action, resource) => `${name} dürfte nicht: ${action} ${resource}.`,
  },
  whoElse: 'Wer eine Berechtigung dafür hat',
  nobody: 'Kein Agent.',
  delegatedTo: 'delegiert',
  andMore: 'Es gibt weitere.',
  mayCall: 'Wer ausführen darf',
  spend: 'Ausgaben',
  noRefusalsYet: 'Bisher wurde nichts abgelehnt.',
  noDecisionsThen: 'Keine Entscheidungen in diesem Zeitraum.',
  limitOf: (limit, unit, window) => `${limit} ${unit} pro ${{ hour: 'Stunde', day: 'Tag', month: 'Monat' }[window]}`,
  observedFrom: (observed, from) => `${observed}; gemeldet ab ${from}`,
  costsByDay: 'Kosten pro Tag (UTC), letzte 30 Tage',
  costsByAgent: 'Kosten pro Agent, insgesamt',
  noCostsThen: 'Keine Kosten in diesem Zeitraum.',
  origin: 'Registriert von',
  origins: { admin: 'einem Administrator', self: 'dem Client selbst' },
  tokens: 'Token',
  day: 'Tag',
  forecast: 'Prognose',
  limitReached: 'Grenze erreicht',
  reachedAt: (time) => `Grenze erreicht: etwa ${time}`,
  aboutAtEnd: (n, unit) => `Etwa ${n} ${unit} am Ende des Zeitraums`,
  budgetOf: (name) => `das Budget von ${name}`,
  setBudget: 'Budget festlegen',
  limit: 'Grenze',
  tighten: 'Berechtigungen einschränken',
  expiresSoon: 'Laufen innerhalb von 7 Tagen ab',
  registerServer: 'Server anlegen',
  registerClient: 'Client anlegen',
  registerWebhook: 'Webhook anlegen',
  registerTenant: 'Mandanten anlegen',
  serverNameHint: 'Der zweite Teil von mcp:name:werkzeug in Berechtigungen',
  wordsHint: 'Durch Leerzeichen getrennt',
  typesHint: 'Durch Leerzeichen getrennt; leer: alle Ereignisse',
  enable: 'Einschalten',
  disable: 'Ausschalten',
  enableQuestion: 'Diesen Webhook einschalten?',
  disableQuestion: 'Diesen Webhook ausschalten?',
  delivered: (n, of) => `${n} von ${of} auf dieser Seite ${n === 1 ? 'wurde' : 'wurden'} zugestellt.`,
  verifySnippet: 'So prüfen Sie eine Nachricht in Node.js',
  checkMessage: 'Warum lehnt mein Empfänger ab?',
  checkHint:
    'Geben Sie ein, was der Empfänger erhalten hat. Geprüft wird in Ihrem Browser; nichts davon wird gesendet oder ' +
    'gespeichert.',
  checkFields: {
    id: 'webhook-id',
    timestamp: 'webhook-timestamp',
    signature: 'webhook-signature',
    secret: 'Geheimnis des Empfängers',
    body: 'Inhalt, wie ihn der Empfänger gelesen hat',
  },
  check: 'Prüfen',
  checkFindings: {
    holds: 'Die Signatur stimmt. Der Empfänger muss zum selben Ergebnis kommen.',
    'secret-form': 'Das Geheimnis muss aus whsec_ und Base64 bestehen.',
    'signature-form': 'Die Signatur muss aus v1, (mit dem Komma) und Base64 von 32 Byte bestehen.',
    'timestamp-form': 'Der Zeitstempel muss eine Anzahl von Sekunden seit 1970 sein.',
    'timestamp-old':
      'Die Signatur stimmt, aber der Zeitstempel weicht um mehr als 5 Minuten ab. Prüfen Sie die Uhr des Empfängers.',
    id: 'Die Kennung ist falsch: Signiert wurde die Nachricht mit einer anderen.',
    body:
      'Der Inhalt wurde nach dem Empfang verändert, etwa geparst und neu serialisiert. Prüfen Sie die empfangenen ' +
      'Bytes.',
    secret: 'Das Geheimnis ist falsch, oder der Zeitstempel ist ein anderer als der gesendete.',
  },
  preview: {
    nothing: 'Kein Agent verliert etwas.',
    loses: (n, left) => {
      if (n === 0)
        return left === 0 ? 'hat keine Berechtigungen' : `verliert keine Berechtigung, behält ${deNumber(left)}`;
      return `verliert ${n === 1 ? '1 Berechtigung' : `${deNumber(n)} Berechtigungen`}, behält ${deNumber(left)}`;
    },
    grants: (n) => (n === 1 ? 'Ein Zugriff einer Anwendung endet.' : `${deNumber(n)} Zugriffe von Anwendungen enden.`),
    approvals: (n) =>
      n === 1
        ? 'Eine offene Freigabe kann nicht mehr verwendet werden.'
        : `${deNumber(n)} offene Freigaben können nicht mehr verwendet werden.`,
    calls: (n) =>
      `Diese Agenten haben in der letzten Stunde ${n === 1 ? 'einen Aufruf' : `${deNumber(n)} Aufrufe`} ausgeführt.`,
    hidden: (n) =>
      n === 1
        ? 'Ein weiterer Agent, den Sie nicht sehen können, verliert Berechtigungen.'
        : `${deNumber(n)} weitere Agenten, die Sie nicht sehen können, verlieren Berechtigungen.`,
  },
  lints: {
    everything: 'Diese Berechtigung erlaubt jede Aktion auf jeder Ressource.',
    capZero: 'Eine Grenze von 0 erlaubt keinen Aufruf.',
    voided: 'Andere Berechtigungen ohne Bedingungen heben diese Bedingungen auf.',
    duplicate: 'Andere Berechtigungen mit denselben Bedingungen decken diese schon ab.',
  },
  says: {
    cap: (n) => `höchstens ${n === 1 ? '1 Aufruf' : `${deNumber(n)} Aufrufe`} pro Stunde`,
    ips: (list) => `nur von ${list}`,
    patterns: (list) => `Argumente entsprechen ${list}`,
    window: (time, days) => `${time}${days ? `, ${days}` : ''}`,
  },
};
