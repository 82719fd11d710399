import { deSecurity } from './de-security.ts';
import type { Texts } from './en.ts';

/** All texts of the pages in German. */
export const de: Texts = {
  languageName: 'Deutsch',
  code: 'de',
  common: {
    language: 'Sprache',
    errorPrefix: 'Fehler',
    problem: 'Da stimmt etwas nicht',
    optional: 'optional',
    email: 'E-Mail-Adresse',
    password: 'Passwort',
    name: 'Name',
    continue: 'Weiter',
    back: 'Zurück',
    or: 'oder',
    backToSignIn: 'Zurück zur Anmeldung',
    signOut: 'Abmelden',
    newPasswordHint: 'Mindestens 8 Zeichen; empfohlen sind 15 oder mehr.',
    notYou: 'Das sind nicht Sie?',
    signedInAs: (who) => `Angemeldet als ${who}`,
  },
  console: {
    title: 'Konsole',
    purpose: 'Agenten, ihre Berechtigungen und Delegationen, Freigaben und das Protokoll aller Entscheidungen',
    open: 'Konsole öffnen',
    needsScripts: 'Die Konsole braucht JavaScript.',
    notBuilt: 'Die Konsole ist noch nicht gebaut. Führen Sie npm run build aus und starten Sie den Dienst neu.',
  },
  errors: {
    title: 'Da ist etwas schiefgegangen',
    toStart: 'Zur Startseite',
    newLink: 'Neuen Link anfordern',
    notFound: 'Diese Seite gibt es nicht',
    forbidden: 'Das ist nicht erlaubt',
    tooMany: 'Zu viele Versuche',
    tooManyText: (seconds) => `Bitte warten Sie ${seconds} Sekunden und versuchen Sie es dann noch einmal.`,
    unavailable: 'Im Moment nicht verfügbar',
    unavailableText: 'Bitte versuchen Sie es gleich noch einmal.',
    internal: 'Bei uns ist etwas schiefgegangen',
    reference: (id) => `Wenn Sie das Problem melden, geben Sie bitte diese Kennung an: ${id}`,
    otherSite:
      'Dieses Formular kam von einer anderen Website und wurde ignoriert. Öffnen Sie die Seite hier noch einmal.',
  },
  codes: {
    RATE_LIMIT_EXCEEDED: 'Zu viele Anfragen. Warten Sie kurz und versuchen Sie es dann erneut.',
    NOT_FOUND: 'Unter dieser Adresse gibt es keine Seite.',
    FORBIDDEN: 'Ihr Konto darf das nicht.',
    CONNECTION_NOT_FOUND: 'Es gibt keinen Server mit diesem Namen, mit dem Sie sich verbinden können.',
    CONNECTION_SIGN_IN_INVALID:
      'Diese Anmeldung stammt aus einem anderen Browser oder gilt nicht mehr. Beginnen Sie von vorn.',
    CONNECTION_UPSTREAM_FAILED:
      'Die Anmeldung bei diesem Server ist gerade nicht möglich. Versuchen Sie es später erneut.',
    SECOND_FACTOR_REQUIRED: 'Ihr Konto braucht einen zweiten Faktor. Richten Sie zuerst einen ein.',
    TOTP_NOT_SET_UP: 'Es gibt keinen zweiten Faktor. Richten Sie zuerst einen ein.',
    TOTP_ALREADY_ENABLED: 'Der zweite Faktor ist schon eingeschaltet.',
    REAUTHENTICATION_REQUIRED: 'Geben Sie einen Code aus Ihrer App ein, um zu bestätigen, dass Sie es sind.',
    EXPIRES_AT_IN_PAST: 'Der Ablauf muss in der Zukunft liegen.',
    API_TOKEN_LIMIT_EXCEEDED:
      'Sie haben die Höchstzahl von 50 API-Token erreicht. Widerrufen Sie eines, das Sie nicht mehr brauchen.',
    API_TOKEN_NOT_FOUND: 'Dieses Token gibt es nicht.',
    UNAUTHORIZED: 'Sie sind nicht angemeldet, oder Ihre Sitzung ist abgelaufen.',
    VALIDATION_FAILED:
      'Die Adresse oder das Formular ist unvollständig. Gehen Sie zurück und versuchen Sie es noch einmal.',
    STORAGE_UNAVAILABLE: 'Bitte versuchen Sie es gleich noch einmal.',
    EMAIL_IN_USE: 'Zu dieser E-Mail-Adresse gibt es schon ein Konto.',
    INVALID_EMAIL_OR_PASSWORD: 'Die E-Mail-Adresse oder das Passwort stimmt nicht.',
    ISSUER_NOT_FOUND:
      'Hier ist kein Identitätsanbieter mit diesem Namen eingerichtet. Prüfen Sie die Adresse, oder melden Sie sich ' +
      'auf einem anderen Weg an.',
    PASSWORDS_OFF: 'Die Anmeldung mit Passwort ist hier ausgeschaltet. Melden Sie sich auf einem anderen Weg an.',
    IDENTITY_NOT_FOUND: 'Diese Verbindung gibt es nicht.',
    IDENTITY_IN_USE: 'Diese Identität ist schon mit einem anderen Konto verbunden.',
    IDENTITY_EXISTS:
      'Ihr Konto ist schon mit einer anderen Identität dieses Anbieters verbunden. Entfernen Sie sie zuerst.',
    LAST_WAY_IN: 'Das ist Ihre einzige Anmeldemöglichkeit. Legen Sie zuerst ein Passwort oder einen Passkey an.',
    SIGN_IN_EXPIRED:
      'Diese Anmeldung ist abgelaufen, wurde schon verwendet oder in einem anderen Browser begonnen. Beginnen Sie neu.',
    SIGN_IN_NOT_CONFIRMED: 'Der Identitätsanbieter hat Ihre Identität nicht bestätigt. Beginnen Sie die Anmeldung neu.',
    SIGN_IN_REFUSED:
      'Mit dieser Identität können Sie sich hier nicht anmelden. Bitten Sie einen Administrator um ein Konto.',
    PROVIDER_UNAVAILABLE:
      'Der Identitätsanbieter ist gerade nicht erreichbar. Versuchen Sie es in einer Minute erneut.',
    INVALID_PASSKEY:
      'Dieser Passkey wird hier nicht akzeptiert. Versuchen Sie es noch einmal, oder melden Sie sich auf einem ' +
      'anderen Weg an.',
    PASSKEY_NOT_FOUND: 'Diesen Passkey gibt es nicht.',
    PASSKEY_EXISTS: 'Dieser Passkey ist schon registriert.',
    PASSKEY_REJECTED: 'Der Passkey konnte nicht hinzugefügt werden. Bitte versuchen Sie es noch einmal.',
    PASSKEY_LIMIT_EXCEEDED:
      'Sie haben die Grenze von 20 Passkeys erreicht. Entfernen Sie einen, den Sie nicht mehr verwenden.',
    INVALID_CODE: 'Dieser Code stimmt nicht oder wurde schon verwendet.',
    INVALID_PASSWORD: 'Das Passwort stimmt nicht.',
    TOO_MANY_TRIES:
      'Zu viele falsche Versuche. Bitte warten Sie eine Weile, oder melden Sie sich auf einem anderen Weg an.',
    EMAIL_NOT_VERIFIED:
      'Bestätigen Sie zuerst Ihre E-Mail-Adresse. Öffnen Sie dazu den Link, den wir Ihnen geschickt haben.',
    SIGN_UP_CLOSED: 'Konten kann hier nur ein Administrator anlegen.',
    INVITE_REQUIRED: 'Für ein Konto brauchen Sie hier eine Einladung. Öffnen Sie den Link in der Einladung.',
    INVITE_INVALID: 'Diese Einladung ist nicht mehr gültig oder für eine andere E-Mail-Adresse bestimmt.',
    MAIL_NOT_CONFIGURED: 'Das ist nicht möglich, weil hier kein E-Mail-Versand eingerichtet ist.',
    SESSION_LIMIT_REACHED:
      'Sie sind schon auf zu vielen Geräten angemeldet. Melden Sie sich zuerst auf einem davon ab.',
    APPROVAL_NOT_FOUND: 'Diese Freigabeanfrage gibt es nicht.',
    GRANT_NOT_FOUND: 'Diese Anwendung hat keinen Zugriff mehr.',
    SETUP_LINK_INVALID:
      'Dieser Link ist ungültig, wurde schon verwendet oder ist älter als 15 Minuten. Solange es noch kein Konto ' +
      'gibt, erhalten Sie beim Neustart des Dienstes einen neuen.',
    PASSWORD_BREACHED:
      'Dieses Passwort ist aus einem Datenleck bekannt und deshalb leicht zu erraten. Wählen Sie ein anderes.',
    PASSWORD_TOO_COMMON: 'Dieses Passwort gehört zu den häufigsten und ist leicht zu erraten. Wählen Sie ein anderes.',
    PASSWORD_TOO_PERSONAL:
      'Dieses Passwort ist dem Namen des Dienstes oder Ihrer E-Mail-Adresse zu ähnlich. Wählen Sie ein anderes.',
    PASSWORD_REJECTED: 'Dieses Passwort können Sie nicht verwenden. Wählen Sie ein anderes.',
    PASSWORD_CHECK_UNAVAILABLE:
      'Das Passwort konnte nicht mit bekannten Datenlecks abgeglichen werden. Versuchen Sie es gleich noch einmal.',
    INVALID_TOKEN: 'Dieser Link ist ungültig, wurde schon verwendet oder ist abgelaufen.',
    PASSWORD_CHECKS_BUSY: 'Im Moment melden sich zu viele Personen an. Bitte versuchen Sie es gleich noch einmal.',
  },
  fields: {
    email: 'Geben Sie eine E-Mail-Adresse ein, zum Beispiel name@example.com.',
    passwordShort: 'Geben Sie ein Passwort mit mindestens 8 Zeichen ein.',
    passwordLong: 'Geben Sie ein Passwort mit höchstens 1.024 Byte ein.',
    required: 'Füllen Sie dieses Feld aus.',
    invalid: 'Dieser Wert ist nicht gültig.',
  },
  signIn: {
    title: 'Anmelden',
    submit: 'Anmelden',
    remember: 'Auf diesem Gerät angemeldet bleiben',
    forgot: 'Passwort vergessen?',
    link: 'Anmeldelink per E-Mail senden',
    noAccount: 'Noch kein Konto?',
    signUp: 'Konto anlegen',
    verify: 'Bestätigungslink erneut senden',
    signedOut: 'Sie sind abgemeldet.',
    passwordChanged: 'Ihr Passwort wurde geändert. Melden Sie sich mit dem neuen an.',
    withProvider: (name) => `Mit ${name} anmelden`,
    continueAs: (who) => `Weiter als ${who}`,
    waiting: (client) => `„${client}“ wartet. Nach der Anmeldung entscheiden Sie, was die Anwendung darf.`,
  },
  signUp: {
    title: 'Konto anlegen',
    submit: 'Konto anlegen',
    haveAccount: 'Haben Sie schon ein Konto?',
    invited: (email) =>
      `Sie sind mit der Adresse ${email} eingeladen. Melden Sie sich damit an, um Ihr Konto anzulegen.`,
    invitedNoWay:
      'Passwörter sind hier ausgeschaltet, und für diese Adresse ist kein Identitätsanbieter eingerichtet. Fragen ' +
      'Sie die Person, die Sie eingeladen hat.',
    signIn: 'Anmelden',
    checkMail: 'Sehen Sie in Ihrem Postfach nach',
    checkMailText: (email) =>
      `Wir haben eine Nachricht an ${email} geschickt. Öffnen Sie den Link darin, um die Adresse zu bestätigen.`,
  },
  secondFactor: {
    title: 'Zweiter Schritt',
    intro: 'Öffnen Sie Ihre Authentifizierungs-App und geben Sie den Code für dieses Konto ein.',
    code: 'Code aus der App',
    hint: 'Sechs Ziffern. Wenn Sie die App nicht zur Hand haben, geben Sie einen Ihrer Ersatzcodes ein.',
    trust: 'Auf diesem Gerät 30 Tage lang nicht mehr nach dem Code fragen',
    submit: 'Anmelden',
    gone: 'Die Anmeldung hat zu lange gedauert, oder zu viele Codes waren falsch. Beginnen Sie von vorn.',
    again: 'Von vorn beginnen',
  },
  devices: {
    label: 'Geräte',
    title: 'Ihre Geräte',
    intro: 'Auf diesen Geräten sind Sie angemeldet. Melden Sie Geräte ab, die Sie nicht kennen oder nicht mehr nutzen.',
    current: 'Dieses Gerät',
    unknown: 'Unbekannter Browser',
    on: (browser, os) => `${browser} unter ${os}`,
    kinds: {
      desktop: 'Computer',
      mobile: 'Mobiltelefon',
      tablet: 'Tablet',
      tv: 'Fernseher',
      bot: 'Programm',
      unknown: '',
    },
    signedIn: (when) => `Angemeldet am ${when}`,
    address: (ip) => `IP-Adresse ${ip}`,
    end: 'Abmelden',
    endThis: 'Hier abmelden',
    endSpoken: (what) => `Abmelden: ${what}`,
    endOthers: 'Alle anderen Geräte abmelden',
    none: 'Sie sind über eine andere Anwendung angemeldet. Deshalb sind hier keine Geräte aufgeführt.',
    ended: 'Das Gerät wurde abgemeldet.',
    othersEnded: 'Alle anderen Geräte wurden abgemeldet.',
    apps: 'Wenn Sie ein Gerät abmelden, behalten verbundene Anwendungen ihren Zugriff.',
  },
  start: {
    title: 'Identität und Berechtigungen für Software-Agenten',
    intro: 'Jeder Agent hat hier eine Identität. Jede Aktion wird vorab geprüft und protokolliert.',
    needsAdmin:
      'Dieser Dienst hat noch keinen Administrator. Um einen anzulegen, öffnen Sie den Link, den der Dienst beim ' +
      'Start ausgegeben hat, oder führen Sie npx legate admin create aus. Konten, die Sie hier anlegen, haben ' +
      'keine Administratorrechte.',
    account: 'Zu Ihrem Konto',
    developers: 'Für Entwicklung und Betrieb',
    docs: 'API-Dokumentation',
    docsPurpose: 'Alle Endpunkte zum Nachlesen und Ausprobieren.',
    health: 'Zustand',
    healthPurpose: 'Zeigt der Überwachung, ob der Dienst bereit ist.',
  },
  account: {
    label: 'Konto',
    title: 'Ihr Konto',
    devices: 'Sehen, wo Sie angemeldet sind, und fremde Geräte abmelden.',
    apps: 'Sehen, welche Anwendungen für Sie handeln, und ihren Zugriff beenden.',
    unverified:
      'Ihre E-Mail-Adresse ist noch nicht bestätigt. Öffnen Sie den Link, den wir Ihnen senden, in diesem ' +
      'Browser. Anderswo geöffnet, entfernt er Ihr Passwort und alles, was Sie bisher eingerichtet haben.',
    verify: 'Link senden',
  },
  ...deSecurity,
  scopes: {
    'agents:read': 'Ihre Agenten und deren Berechtigungen sehen',
    'agents:write': 'Ihre Agenten anlegen, ändern und widerrufen',
    'delegations:read': 'Sehen, welche Berechtigungen Ihre Agenten einander weitergegeben haben',
    'delegations:write': 'Berechtigungen von einem Ihrer Agenten an einen anderen weitergeben und zurücknehmen',
    'audit:read': 'Das Protokoll Ihrer Agenten lesen',
    'events:read': 'Die Ereignisse Ihrer Agenten live verfolgen',
    authorize: 'Prüfen, ob einer Ihrer Agenten etwas darf',
    'mcp:read': 'Mit den Werkzeugen Ihrer MCP-Server Daten lesen',
    'mcp:execute': 'Die Werkzeuge Ihrer MCP-Server verwenden, auch solche, die etwas ändern',
    offline_access: 'Verbunden bleiben, auch wenn Sie nicht da sind',
  },
  consent: {
    title: (client) => `Darf ${client} für Sie handeln?`,
    titleNameless: 'Darf eine Anwendung ohne Namen für Sie handeln?',
    someone: 'Eine Anwendung',
    wants: (client) => `${client} möchte:`,
    otherScope: (scope) => `Die Berechtigung „${scope}“ nutzen`,
    groups: { tools: 'Werkzeuge', agents: 'Ihre Agenten', records: 'Ihre Protokolle', other: 'Sonstiges' },
    sensitive: 'Weitreichend',
    meanings: {
      'agents:write':
        'Die Anwendung kann in Ihrem Namen Agenten mit beliebigen Berechtigungen anlegen, deren Token erhalten ' +
        'und Ihre vorhandenen Agenten ändern, mit neuem Token versehen oder widerrufen. Agenten, die sie ' +
        'anlegt, werden widerrufen, sobald ihr Zugriff endet.',
      'delegations:write': 'Ein Agent kann dadurch Berechtigungen erhalten, die bisher nur ein anderer hat.',
    },
    sentTo: 'Danach weiter zu',
    thisDevice: 'eine Anwendung auf diesem Gerät',
    thisComputer: 'ein Programm auf diesem Rechner',
    selfRegistered:
      'Diese Anwendung hat sich selbst registriert, und niemand hat ihren Namen geprüft. Erlauben Sie den ' +
      'Zugriff nur, wenn Sie diesen Vorgang gerade selbst begonnen haben.',
    document: (host) => `Die Angaben zur Anwendung stammen von ${host}.`,
    resource: 'Zugriff auf',
    agents: 'Welcher Agent handelt',
    agentsHint:
      'Die Aktionen der Anwendung werden unter diesem Agenten protokolliert. Wird er widerrufen, endet der Zugriff.',
    actsAs: (name) => `Handelt als Ihr Agent „${name}“`,
    actsAsNew: 'Handelt als neuer Agent',
    newAgent: (name) => `Ein neuer Agent, „${name}“`,
    usual: 'bereits mit dieser Anwendung verwendet',
    technical: 'Technische Einzelheiten',
    scopeNames: 'Berechtigungen (Scopes)',
    tools: 'Werkzeuge',
    more: (count) => `und ${count} weitere`,
    resourceAddress: 'Ressource',
    redirectAddress: 'Weiterleitungsadresse',
    clientId: 'Client-Kennung',
    allow: 'Erlauben',
    deny: 'Ablehnen',
    atLeastOne: 'Kreuzen Sie mindestens eine Berechtigung an, oder lehnen Sie die Anfrage ab.',
    managed: 'Der Identitätsanbieter Ihrer Organisation entscheidet, welche Anwendungen für Sie handeln dürfen.',
    wrongAgent: 'Wählen Sie einen Ihrer aktiven Agenten.',
    endLater: 'Sie können dies jederzeit unter „Verbundene Anwendungen“ beenden.',
  },
  device: {
    title: 'Gerät verbinden',
    intro: 'Geben Sie den Code ein, den Ihr Gerät anzeigt.',
    compare: 'Prüfen Sie, ob Ihr Gerät genau diesen Code anzeigt, und fahren Sie dann fort.',
    code: 'Code',
    hint: 'Acht Buchstaben, zum Beispiel WDJB-MJHT',
    next: 'Weiter',
    wrongCode: 'Mit diesem Code wartet kein Gerät. Prüfen Sie den Code, oder beginnen Sie auf dem Gerät von vorn.',
    warning:
      'Fahren Sie nur fort, wenn Sie den Vorgang selbst begonnen haben und das Gerät vor Ihnen diesen Code anzeigt. ' +
      'Wenn Ihnen jemand den Code geschickt hat, lehnen Sie die Anfrage ab.',
    place: 'Angefragt von',
    unknownPlace: 'einer nicht gespeicherten Adresse',
    program: 'Programm',
    time: 'Zeitpunkt',
    allowed: 'Das Gerät ist verbunden. Sie können diese Seite schließen und zum Gerät zurückkehren.',
    denied: 'Sie haben die Anfrage abgelehnt. Das Gerät erhält keinen Zugriff.',
  },
  requestError: {
    refused: 'Die Anfrage der Anwendung ist fehlerhaft',
    notAllowed: 'Sie haben dieser Anwendung noch keinen Zugriff gegeben',
    faulty: (client) => `${client} hat Sie mit einer Anfrage hierher geschickt, die sich nicht beantworten lässt.`,
    quiet: (client) =>
      `${client} wollte Zugriff, ohne Sie zu fragen. Das ist erst möglich, wenn Sie es einmal erlaubt haben.`,
    leadsTo: 'Es geht weiter zu',
    unknownAddress: 'Niemand hat diese Adresse geprüft. Gehen Sie nur weiter, wenn Sie sie kennen.',
    goOn: (host) => `Weiter zu ${host}`,
    unanswerable: 'Diese Anfrage lässt sich nicht beantworten',
    unanswerableText:
      'Die Anwendung hat eine fehlerhafte Anfrage gestellt. Gehen Sie zu ihr zurück und beginnen Sie von vorn.',
    unknownClient:
      'Die Anwendung, die Sie hierher geschickt hat, ist diesem Dienst nicht oder nicht mehr bekannt. Gehen Sie ' +
      'zu ihr zurück und verbinden Sie sie neu.',
    unreadableClient:
      'Die Anwendung, die Sie hierher geschickt hat, ist gerade nicht erreichbar, deshalb können wir nicht prüfen, ' +
      'wer sie ist. Versuchen Sie es in einigen Minuten noch einmal.',
    unregisteredAddress:
      'Die Anwendung möchte Sie an eine Adresse weiterleiten, die sie nicht registriert hat. Zu Ihrem Schutz ' +
      'geschieht das nicht.',
    expired: 'Bitte entscheiden Sie noch einmal',
    expiredText: 'Diese Seite war zu lange geöffnet oder gehört zu einer anderen Anmeldung. Es wurde nichts geändert.',
    openAgain: 'Anfrage erneut öffnen',
    given: 'Sie haben diese Anfrage bereits beantwortet',
    givenText: 'Ihre Antwort wurde übermittelt. Um sie zu ändern, beginnen Sie in der Anwendung von vorn.',
    toApps: 'Verbundene Anwendungen',
    details: 'Einzelheiten für Entwickler',
  },
  apps: {
    label: 'Anwendungen',
    title: 'Verbundene Anwendungen',
    none: 'Keine Anwendung hat Zugriff.',
    intro: 'Diese Anwendungen handeln über einen Ihrer Agenten für Sie. Wenn Sie den Zugriff beenden, gilt das sofort.',
    newest: (count) => `Nur die ${count} neuesten sind zu sehen. Wenn Sie Zugriffe beenden, erscheinen ältere.`,
    agent: (name) => `Handelt als Agent „${name}“`,
    resource: (resource) => `Für ${resource}`,
    since: (when, last) => `Seit ${when}, zuletzt verwendet ${last}`,
    end: 'Zugriff beenden',
    ended: 'Der Zugriff ist beendet.',
  },
  approval: {
    title: 'Ein Aufruf wartet auf Ihre Freigabe',
    decidedTitle: 'Ein Aufruf, der eine Freigabe brauchte',
    intro:
      'Ein Agent möchte den folgenden Aufruf ausführen. Wenn Sie ihn freigeben, darf er ihn genau so einmal ausführen.',
    agent: 'Agent',
    owner: 'Inhaber',
    action: 'Aktion',
    resource: 'Ressource',
    requested: 'Angefragt',
    expires: 'Läuft ab',
    decided: 'Entschieden',
    decidedBy: 'Entschieden von',
    note: 'Begründung',
    noteHint: 'Der Agent kann sie lesen, und sie wird mit der Entscheidung protokolliert.',
    arguments: 'Argumente',
    noArguments: 'Der Aufruf hat keine Argumente.',
    approve: 'Freigeben',
    deny: 'Ablehnen',
    mail: {
      subject: (agent, brand) => `Agent „${agent}“ wartet bei ${brand} auf Ihre Freigabe`,
      text: ({ agent, action, resource, link }) => [
        `Ihr Agent „${agent}“ bittet um Freigabe: ${action} ${resource}`,
        'Auf dieser Seite sehen Sie den ganzen Aufruf und können ihn freigeben oder ablehnen:',
        link,
        'Dort melden Sie sich an. Wenn Sie nichts tun, wird der Aufruf nicht erlaubt.',
      ],
    },
    tooLate:
      'Dieser Aufruf wartet nicht mehr auf Freigabe: Er wurde schon entschieden, oder die Anfrage ist abgelaufen.',
    outcomes: {
      approved: 'Freigegeben. Der Agent darf den Aufruf einmal ausführen. Bitten Sie ihn darum, falls er wartet.',
      denied: 'Dieser Aufruf wurde abgelehnt.',
      used: 'Dieser Aufruf wurde freigegeben, und der Agent hat ihn ausgeführt.',
      expired: 'Diese Anfrage ist abgelaufen. Der Agent muss erneut anfragen.',
      pending: 'Dieser Aufruf wartet auf eine Entscheidung.',
    },
  },
  setup: {
    title: 'Den ersten Administrator einrichten',
    submit: 'Administrator anlegen',
    refused: 'Einrichtung',
    done: 'Sie sind angemeldet',
    doneText: (email) =>
      `Der Administrator ${email} wurde angelegt. Dieser Link kann nicht noch einmal verwendet werden.`,
  },
  askMagicLink: {
    title: 'Anmelden per E-Mail',
    text: 'Wir schicken Ihnen einen Link, mit dem Sie sich anmelden. Er gilt 5 Minuten und nur einmal.',
    submit: 'Link senden',
    sent: (email) => `Wenn es ein Konto für ${email} gibt, ist ein Link unterwegs. Er gilt 5 Minuten und nur einmal.`,
  },
  forgotPassword: {
    title: 'Passwort vergessen?',
    text: 'Wir schicken Ihnen einen Link, mit dem Sie ein neues festlegen können.',
    submit: 'Link senden',
    sent: (email) =>
      `Wenn es ein Konto für ${email} gibt, ist ein Link für ein neues Passwort unterwegs. Er gilt eine Stunde ` +
      'und nur einmal.',
  },
  askVerification: {
    title: 'E-Mail-Adresse bestätigen',
    text: 'Wir schicken Ihnen einen Link, mit dem Sie bestätigen, dass die Adresse Ihnen gehört.',
    submit: 'Link senden',
    sent: (email) => `Wenn es ein Konto für ${email} gibt, das noch nicht bestätigt ist, ist ein Link unterwegs.`,
  },
  magicLink: {
    title: 'Anmelden',
    text: 'Mit diesem Link melden Sie sich an. Er gilt nur einmal.',
    submit: 'Anmelden',
    done: 'Sie sind angemeldet',
    doneText: 'Sie haben sich mit dem Link angemeldet.',
  },
  verifyEmail: {
    title: 'E-Mail-Adresse bestätigen',
    text: 'Bestätigen Sie, dass diese E-Mail-Adresse Ihnen gehört.',
    submit: 'Bestätigen',
    done: 'Ihre E-Mail-Adresse ist bestätigt',
    doneText: 'Vielen Dank.',
    endsCredentials:
      'In diesem Browser sind Sie bei diesem Konto nicht angemeldet. Wenn Sie hier fortfahren, wird alles bisher ' +
      'Eingerichtete entfernt, etwa Passwort, Passkeys und verbundene Anwendungen, weil jemand anderes das Konto ' +
      'angelegt haben könnte. Um es zu behalten, öffnen Sie den Link in dem Browser, in dem Sie angemeldet sind.',
    noPassword:
      'Alles, was vorher in diesem Konto eingerichtet war, wurde entfernt, auch das Passwort. Legen Sie ein neues ' +
      'fest oder melden Sie sich mit einem Link per E-Mail an.',
    setPassword: 'Passwort festlegen',
  },
  passwordReset: {
    title: 'Neues Passwort festlegen',
    newPassword: 'Neues Passwort',
    submit: 'Passwort festlegen',
    done: 'Ihr Passwort ist geändert',
    doneText:
      'Sie wurden überall abgemeldet, Ihre API-Token gelten nicht mehr, und verbundene Anwendungen haben keinen ' +
      'Zugriff mehr. Melden Sie sich mit dem neuen Passwort an.',
  },
};
