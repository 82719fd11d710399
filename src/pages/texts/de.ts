import type { Texts } from './en.ts';

/** Every text of the pages in German. */
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
    reference: (id) => `Wenn Sie das melden, geben Sie bitte diese Kennung an: ${id}`,
    otherSite:
      'Dieses Formular kam von einer anderen Website; deshalb ist nichts geschehen. Öffnen Sie die Seite hier ' +
      'und senden Sie es noch einmal.',
  },
  codes: {
    NOT_FOUND: 'Unter dieser Adresse gibt es keine Seite.',
    FORBIDDEN: 'Ihr Konto darf das nicht.',
    SECOND_FACTOR_REQUIRED: 'Ihr Konto braucht einen zweiten Faktor. Richten Sie zuerst einen ein.',
    UNAUTHORIZED: 'Sie sind nicht angemeldet, oder Ihre Sitzung ist abgelaufen.',
    VALIDATION_FAILED:
      'Die Adresse oder das Formular ist unvollständig. Gehen Sie zurück und versuchen Sie es noch einmal.',
    STORAGE_UNAVAILABLE: 'Bitte versuchen Sie es gleich noch einmal.',
    EMAIL_IN_USE: 'Zu dieser E-Mail-Adresse gibt es schon ein Konto.',
    INVALID_EMAIL_OR_PASSWORD: 'Die E-Mail-Adresse oder das Passwort stimmt nicht.',
    INVALID_CODE: 'Dieser Code stimmt nicht oder wurde schon verwendet.',
    INVALID_PASSWORD: 'Das Passwort stimmt nicht.',
    TOO_MANY_TRIES:
      'Zu viele falsche Versuche. Bitte warten Sie eine Weile, oder melden Sie sich auf einem anderen Weg an.',
    EMAIL_NOT_VERIFIED:
      'Bestätigen Sie zuerst Ihre E-Mail-Adresse: Folgen Sie dem Link, den wir Ihnen geschickt haben.',
    SIGN_UP_CLOSED: 'Konten kann hier nur ein Administrator anlegen.',
    INVITE_REQUIRED: 'Für ein Konto brauchen Sie hier eine Einladung. Folgen Sie dem Link darin.',
    INVITE_INVALID: 'Diese Einladung ist nicht mehr gültig oder für eine andere E-Mail-Adresse bestimmt.',
    MAIL_NOT_CONFIGURED: 'Das ist nicht möglich, weil hier kein E-Mail-Versand eingerichtet ist.',
    SESSION_LIMIT_REACHED:
      'Sie haben die Höchstzahl an Geräten erreicht, auf denen Sie angemeldet sein können. Melden Sie sich ' +
      'zuerst auf einem anderen ab.',
    APPROVAL_NOT_FOUND: 'Diese Anfrage zur Zustimmung gibt es nicht.',
    GRANT_NOT_FOUND: 'Diese Anwendung hat keinen Zugriff mehr.',
    SETUP_LINK_INVALID:
      'Dieser Link ist nicht gültig: Er gilt 15 Minuten lang und nur einmal. Solange es noch kein Konto gibt, ' +
      'zeigt ein Neustart des Dienstes einen neuen.',
    PASSWORD_BREACHED:
      'Dieses Passwort ist aus Datenlecks bekannt, andere können es also erraten. Wählen Sie ein anderes.',
    PASSWORD_TOO_COMMON: 'Dieses Passwort gehört zu den häufigsten und wird zuerst probiert. Wählen Sie ein anderes.',
    PASSWORD_TOO_PERSONAL:
      'Dieses Passwort besteht fast nur aus dem Namen des Dienstes oder Ihrer E-Mail-Adresse. Wählen Sie ein anderes.',
    PASSWORD_REJECTED: 'Dieses Passwort können Sie nicht verwenden. Wählen Sie ein anderes.',
    PASSWORD_CHECK_UNAVAILABLE:
      'Das Passwort konnte nicht mit bekannten Datenlecks verglichen werden. Bitte versuchen Sie es gleich noch ' +
      'einmal.',
    INVALID_TOKEN: 'Dieser Link ist nicht gültig, wurde schon verwendet oder ist zu alt.',
    PASSWORD_CHECKS_BUSY: 'Im Moment melden sich zu viele Personen an. Bitte versuchen Sie es gleich noch einmal.',
  },
  fields: {
    email: 'Geben Sie eine E-Mail-Adresse ein, zum Beispiel name@example.com.',
    passwordShort: 'Geben Sie ein Passwort mit mindestens 8 Zeichen ein.',
    passwordLong: 'Geben Sie ein Passwort mit höchstens 1.024 Bytes ein.',
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
    verify: 'Bestätigungslink noch einmal senden',
    signedOut: 'Sie sind abgemeldet.',
    passwordChanged: 'Ihr Passwort wurde geändert. Melden Sie sich mit dem neuen an.',
    continueAs: (who) => `Weiter als ${who}`,
    waiting: (client) => `„${client}“ wartet. Nach der Anmeldung entscheiden Sie, was die Anwendung darf.`,
  },
  signUp: {
    title: 'Konto anlegen',
    submit: 'Konto anlegen',
    haveAccount: 'Haben Sie schon ein Konto?',
    signIn: 'Anmelden',
    checkMail: 'Sehen Sie in Ihr Postfach',
    checkMailText: (email) =>
      `Wir haben eine Nachricht an ${email} geschickt. Folgen Sie dem Link darin, um die Adresse zu bestätigen.`,
  },
  secondFactor: {
    title: 'Zweiter Schritt',
    intro: 'Öffnen Sie Ihre Authentifizierungs-App und geben Sie den Code ein, den sie für dieses Konto zeigt.',
    code: 'Code aus der App',
    hint: 'Sechs Ziffern. Wenn Sie die App nicht zur Hand haben, geben Sie einen Ihrer Ersatzcodes ein.',
    trust: 'Auf diesem Gerät 30 Tage lang nicht mehr fragen',
    submit: 'Anmelden',
    gone: 'Die Anmeldung hat zu lange gedauert, oder es gab zu viele falsche Codes. Beginnen Sie von vorn.',
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
    none: 'Sie sind über eine andere Anwendung angemeldet; deshalb gibt es hier keine Geräte.',
    ended: 'Das Gerät wurde abgemeldet.',
    othersEnded: 'Alle anderen Geräte wurden abgemeldet.',
    apps: 'Wenn Sie ein Gerät abmelden, behalten verbundene Anwendungen ihren Zugriff.',
  },
  start: {
    title: 'Identität und Berechtigungen für Software-Agenten',
    intro: 'Jeder Agent hat hier eine Identität. Was er tut, wird vorher geprüft und aufgezeichnet.',
    account: 'Zu Ihrem Konto',
    developers: 'Für Entwicklung und Betrieb',
    docs: 'API-Dokumentation',
    docsPurpose: 'Alle Endpunkte zum Nachlesen und Ausprobieren.',
    health: 'Zustand',
    healthPurpose: 'Ob der Dienst bereit ist, für die Überwachung.',
  },
  account: {
    label: 'Konto',
    title: 'Ihr Konto',
    devices: 'Sehen, wo Sie angemeldet sind, und fremde Geräte abmelden.',
    apps: 'Sehen, welche Anwendungen für Sie handeln, und ihren Zugriff beenden.',
    unverified:
      'Ihre E-Mail-Adresse ist noch nicht bestätigt. Öffnen Sie den Link, den wir Ihnen senden, in diesem ' +
      'Browser: Anderswo geöffnet, setzt er Ihr Passwort zurück und beendet, was Sie bisher eingerichtet haben.',
    verify: 'Link senden',
  },
  scopes: {
    'agents:read': 'Ihre Agenten sehen, und was sie jeweils dürfen',
    'agents:write': 'Ihre Agenten anlegen, ändern und widerrufen',
    'delegations:read': 'Sehen, welche Berechtigungen Ihre Agenten einander weitergegeben haben',
    'delegations:write': 'Berechtigungen von einem Ihrer Agenten an einen anderen weitergeben und zurücknehmen',
    'audit:read': 'Das Protokoll dessen lesen, was Ihre Agenten getan haben',
    'events:read': 'Live mitverfolgen, was mit Ihren Agenten geschieht',
    authorize: 'Prüfen, ob einer Ihrer Agenten etwas darf',
    'mcp:read': 'Mit den Werkzeugen Ihrer MCP-Server Daten lesen',
    'mcp:execute': 'Die Werkzeuge Ihrer MCP-Server verwenden, auch solche, die etwas ändern',
    offline_access: 'Verbunden bleiben, während Sie nicht da sind',
  },
  consent: {
    title: (client) => `Darf ${client} für Sie handeln?`,
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
      'delegations:write': 'Einer Ihrer Agenten kann dann, was bisher nur ein anderer konnte.',
    },
    sentTo: 'Danach weiter zu',
    thisComputer: 'ein Programm auf diesem Rechner',
    selfRegistered:
      'Diese Anwendung hat sich selbst registriert, und niemand hat ihren Namen geprüft. Erlauben Sie den ' +
      'Zugriff nur, wenn Sie dies gerade selbst begonnen haben.',
    document: (host) => `Die Anwendung wird von ${host} beschrieben.`,
    resource: 'Zugriff auf',
    agents: 'Welcher Agent handelt',
    agentsHint:
      'Was die Anwendung tut, wird unter diesem Agenten aufgezeichnet. Wird er widerrufen, endet der Zugriff.',
    actsAs: (name) => `Handelt als Ihr Agent „${name}“`,
    actsAsNew: 'Handelt als neuer Agent',
    newAgent: (name) => `Ein neuer Agent, „${name}“`,
    usual: 'bereits mit dieser Anwendung verwendet',
    technical: 'Technische Einzelheiten',
    scopeNames: 'Namen der Berechtigungen (Scopes)',
    tools: 'Werkzeuge',
    more: (count) => `und ${count} weitere`,
    resourceAddress: 'Ressource',
    redirectAddress: 'Weiterleitungsadresse',
    clientId: 'Client-Kennung',
    allow: 'Erlauben',
    deny: 'Ablehnen',
    atLeastOne: 'Kreuzen Sie mindestens eine Berechtigung an, oder lehnen Sie die Anfrage ab.',
    wrongAgent: 'Wählen Sie einen Ihrer aktiven Agenten.',
    endLater: 'Sie können dies jederzeit unter „Verbundene Anwendungen“ beenden.',
  },
  requestError: {
    refused: 'Die Anwendung hat einen Fehler gemacht',
    notAllowed: 'Sie haben dieser Anwendung noch nichts erlaubt',
    faulty: (client) => `${client} hat Sie mit einer Anfrage hierher geschickt, die sich nicht beantworten lässt.`,
    quiet: (client) =>
      `${client} wollte Zugriff, ohne Sie zu fragen. Das geht erst, nachdem Sie es einmal erlaubt haben.`,
    leadsTo: 'Es geht weiter zu',
    unknownAddress: 'Niemand hat diese Adresse geprüft. Gehen Sie nur weiter, wenn Sie sie kennen.',
    goOn: (host) => `Weiter zu ${host}`,
    unanswerable: 'Diese Anfrage lässt sich nicht beantworten',
    unanswerableText:
      'Die Anwendung, die Sie hierher geschickt hat, hat einen Fehler gemacht. Gehen Sie zu ihr zurück und ' +
      'beginnen Sie von vorn.',
    unknownClient:
      'Die Anwendung, die Sie hierher geschickt hat, ist diesem Dienst nicht oder nicht mehr bekannt. Gehen Sie ' +
      'zu ihr zurück und verbinden Sie sie neu.',
    unregisteredAddress:
      'Die Anwendung möchte Sie an eine Adresse weiterleiten, die sie nicht registriert hat. Zu Ihrem Schutz ' +
      'geschieht das nicht.',
    expired: 'Bitte entscheiden Sie noch einmal',
    expiredText:
      'Diese Seite war zu lange offen oder gehört zu einer anderen Anmeldung oder Anfrage; deshalb ist nichts ' +
      'geschehen.',
    openAgain: 'Anfrage erneut öffnen',
    given: 'Diese Anfrage ist beantwortet',
    givenText: 'Ihre Antwort wurde bereits übermittelt. Um sie zu ändern, beginnen Sie in der Anwendung von vorn.',
    toApps: 'Verbundene Anwendungen',
    details: 'Einzelheiten für Entwickler',
  },
  apps: {
    label: 'Anwendungen',
    title: 'Verbundene Anwendungen',
    none: 'Keine Anwendung hat Zugriff.',
    intro: 'Diese Anwendungen handeln für Sie durch einen Ihrer Agenten. Beenden Sie den Zugriff, so gilt das sofort.',
    agent: (name) => `Handelt als Agent „${name}“`,
    resource: (resource) => `Für ${resource}`,
    since: (when, last) => `Seit ${when}, zuletzt benutzt ${last}`,
    end: 'Zugriff beenden',
    ended: 'Der Zugriff ist beendet.',
  },
  approval: {
    title: 'Ein Aufruf wartet auf Ihre Zustimmung',
    intro:
      'Ein Agent möchte den folgenden Aufruf machen. Wenn Sie zustimmen, darf er genau diesen Aufruf einmal machen.',
    agent: 'Agent',
    action: 'Aktion',
    resource: 'Ressource',
    asked: 'Angefragt',
    lapses: 'Verfällt',
    decided: 'Entschieden',
    arguments: 'Argumente',
    noArguments: 'Der Aufruf hat keine Argumente.',
    approve: 'Zustimmen',
    deny: 'Ablehnen',
    tooLate: 'Dieser Aufruf wartet nicht: Über ihn wurde schon entschieden, oder die Anfrage ist verfallen.',
    became: {
      approved: 'Diesem Aufruf wurde zugestimmt. Der Agent darf ihn einmal machen.',
      denied: 'Dieser Aufruf wurde abgelehnt.',
      used: 'Diesem Aufruf wurde zugestimmt, und der Agent hat ihn gemacht.',
      expired: 'Diese Anfrage ist verfallen. Der Agent muss noch einmal fragen.',
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
    text: 'Wir schicken Ihnen einen Link, der Sie anmeldet. Er gilt einmal und 5 Minuten lang.',
    submit: 'Link senden',
    sent: (email) => `Wenn es ein Konto für ${email} gibt, ist ein Link unterwegs. Er gilt einmal und 5 Minuten lang.`,
  },
  forgotPassword: {
    title: 'Passwort vergessen?',
    text: 'Wir schicken Ihnen einen Link, mit dem Sie ein neues setzen können.',
    submit: 'Link senden',
    sent: (email) =>
      `Wenn es ein Konto für ${email} gibt, ist ein Link zum Setzen eines neuen Passworts unterwegs. Er gilt einmal und eine Stunde lang.`,
  },
  askVerification: {
    title: 'E-Mail-Adresse bestätigen',
    text: 'Wir schicken Ihnen einen Link, mit dem Sie bestätigen, dass die Adresse Ihnen gehört.',
    submit: 'Link senden',
    sent: (email) => `Wenn es ein Konto für ${email} gibt, das noch nicht bestätigt ist, ist ein Link unterwegs.`,
  },
  magicLink: {
    title: 'Anmelden',
    text: 'Mit diesem Link melden Sie sich an. Er gilt einmal.',
    submit: 'Anmelden',
    done: 'Sie sind angemeldet',
    doneText: 'Der Link hat Sie angemeldet.',
  },
  verifyEmail: {
    title: 'E-Mail-Adresse bestätigen',
    text: 'Bestätigen Sie, dass diese E-Mail-Adresse Ihnen gehört.',
    submit: 'Bestätigen',
    done: 'Ihre E-Mail-Adresse ist bestätigt',
    doneText: 'Vielen Dank.',
    noPassword:
      'Was vorher in diesem Konto eingerichtet war, gilt nicht mehr, auch das Passwort nicht. Setzen Sie ein ' +
      'neues, oder melden Sie sich mit einem Link per E-Mail an.',
    setPassword: 'Passwort setzen',
  },
  passwordReset: {
    title: 'Neues Passwort setzen',
    newPassword: 'Neues Passwort',
    submit: 'Passwort setzen',
    done: 'Ihr Passwort ist geändert',
    doneText:
      'Sie sind überall abgemeldet, Ihre API-Tokens gelten nicht mehr, und verbundene Anwendungen haben keinen ' +
      'Zugriff mehr. Melden Sie sich mit dem neuen Passwort an.',
  },
};
