import type { enSecurity } from './en-security.ts';

/** The German texts of the pages for a person's own credentials. */
export const deSecurity: typeof enSecurity = {
  twoFactor: {
    label: 'Zweiter Faktor',
    title: 'Zweiter Faktor',
    purpose: 'Schützen Sie Ihr Konto mit Codes aus einer App, und sehen Sie, welchen Geräten Sie vertrauen.',
    due: 'Ihr Konto braucht einen zweiten Faktor. Richten Sie ihn ein, um fortzufahren.',
    usePasskey:
      'Ihr Konto hat einen Passkey, der als zweiter Faktor zählt. Melden Sie sich ab, und melden Sie sich mit ihm an.',
    external: 'Sie melden sich über eine andere Anwendung an. Richten Sie den zweiten Faktor dort ein.',
    intro:
      'Mit einem zweiten Faktor reicht Ihr Passwort allein nicht mehr zum Anmelden: Sie geben zusätzlich einen ' +
      'Code aus einer Authentifizierungs-App auf Ihrem Telefon oder aus einem Passwortmanager ein.',
    introNoPassword:
      'Mit einem zweiten Faktor geben Sie beim Anmelden zusätzlich einen Code ein. Er stammt aus einer ' +
      'Authentifizierungs-App auf Ihrem Telefon oder aus einem Passwortmanager.',
    signInFirst:
      'Um den zweiten Faktor einzurichten, melden Sie sich erneut an: Ihre letzte Anmeldung liegt mehr als ' +
      '15 Minuten zurück.',
    passkeyText: 'Auch ein Passkey zählt als zweiter Faktor. Sie melden sich dann mit ihm an und brauchen keinen Code.',
    begin: 'Einrichten',
    setUpTitle: 'Zweiten Faktor einrichten',
    scan: 'Scannen Sie diesen Code mit Ihrer App',
    qr: 'QR-Code für Ihre Authentifizierungs-App',
    manual: 'Schlüssel stattdessen von Hand eingeben',
    manualText: 'Wählen Sie „zeitbasiert“, wenn die App nach der Art fragt.',
    key: 'Schlüssel',
    enter: 'Geben Sie den Code ein, den die App zeigt',
    code: 'Code aus der App',
    codeHint: 'Sechs Ziffern. Die App zeigt alle 30 Sekunden einen neuen Code.',
    switchOn: 'Einschalten',
    startAgain: 'Von vorn beginnen',
    nowOn: 'Der zweite Faktor ist eingeschaltet.',
    newCodes: 'Sie haben neue Ersatzcodes. Die alten gelten nicht mehr.',
    saveTitle: 'Sichern Sie Ihre Ersatzcodes',
    saveText:
      'Wenn Sie Ihr Telefon verlieren, melden Sie sich stattdessen mit einem dieser Codes an. Jeder gilt einmal. ' +
      'Schreiben Sie sie auf, oder bewahren Sie sie in einem Passwortmanager auf: Sie werden nicht noch einmal ' +
      'gezeigt.',
    saved: 'Ich habe die Codes gesichert',
    on: 'Eingeschaltet',
    onSince: (when) => `seit ${when}`,
    codesTitle: 'Ersatzcodes',
    codesLeft: (count) =>
      count === 0 ? 'Es ist kein Code mehr übrig.' : count === 1 ? 'Ein Code ist übrig.' : `${count} Codes sind übrig.`,
    renew: 'Neue Codes erstellen',
    renewTitle: 'Neue Ersatzcodes erstellen',
    renewText: 'Ihre bisherigen Codes gelten dann nicht mehr.',
    anyCodeHint: 'Sechs Ziffern oder einer Ihrer Ersatzcodes.',
    cancel: 'Abbrechen',
    offTitle: 'Zweiten Faktor ausschalten',
    offText:
      'Danach melden Sie sich ohne Code an. Ihre Ersatzcodes gelten nicht mehr, und kein Gerät ist mehr ' +
      'vertrauenswürdig.',
    off: 'Ausschalten',
    offDone: 'Der zweite Faktor ist ausgeschaltet.',
    trustedTitle: 'Vertrauenswürdige Geräte',
    trustedText: 'Auf diesen Geräten melden Sie sich ohne Code an.',
    trustedNone: 'Es gibt keine. Sie können einem Gerät vertrauen, wenn Sie beim Anmelden einen Code eingeben.',
    trustedUntil: (from, until) => `Vertrauenswürdig seit ${from}, bis ${until}`,
    endTrust: 'Vertrauen beenden',
    endTrustSpoken: (what) => `Vertrauen beenden: ${what}`,
    endAllTrust: 'Vertrauen in alle Geräte beenden',
    trustEnded: 'Das Gerät ist nicht mehr vertrauenswürdig.',
    allTrustEnded: 'Kein Gerät ist mehr vertrauenswürdig.',
  },
  passkeys: {
    label: 'Passkeys',
    title: 'Passkeys',
    purpose: 'Mit Fingerabdruck, Gesicht oder Sicherheitsschlüssel anmelden, ohne Passwort und Code.',
    intro:
      'Mit einem Passkey melden Sie sich an, indem Sie Ihr Gerät entsperren oder einen Sicherheitsschlüssel ' +
      'verwenden. Er ersetzt Ihr Passwort und Ihren zweiten Faktor und gilt nur für diese Website.',
    none: 'Sie haben keine Passkeys.',
    external: 'Sie melden sich über eine andere Anwendung an. Verwalten Sie Ihre Passkeys dort.',
    addedOn: (when) => `Hinzugefügt am ${when}`,
    lastUsed: (when) => `Zuletzt verwendet am ${when}`,
    neverUsed: 'Noch nicht verwendet',
    synced: 'Ihr Passwortmanager kann ihn auf Ihre anderen Geräte kopieren',
    notSynced: 'Bleibt auf dem Gerät, auf dem er angelegt wurde',
    remove: 'Entfernen',
    removeSpoken: (name) => `Entfernen: ${name}`,
    removed:
      'Der Passkey wurde entfernt und gilt nicht mehr. Löschen Sie ihn auch auf dem Gerät, auf dem er gespeichert ist.',
    added: 'Der Passkey wurde hinzugefügt. Sie können sich ab jetzt mit ihm anmelden.',
    addTitle: 'Passkey hinzufügen',
    nameHint: 'Für Ihre Liste, zum Beispiel das Gerät oder der Schlüsselbund.',
    add: 'Passkey hinzufügen',
    codeHint: 'Um Passkeys zu ändern, brauchen Sie Ihren zweiten Faktor. Sechs Ziffern oder einer Ihrer Ersatzcodes.',
    confirm: 'Weiter',
    signInFirst:
      'Um Passkeys zu ändern, melden Sie sich erneut an: Ihre letzte Anmeldung liegt mehr als 15 Minuten zurück.',
    passkeyFirst:
      'Melden Sie sich erneut mit einem Ihrer Passkeys an. Einer davon muss in den letzten 15 Minuten benutzt worden ' +
      'sein. Wenn Sie alle verloren haben, bitten Sie einen Administrator, sie zu entfernen.',
    signInAgain: 'Erneut anmelden',
    noDomain: 'Passkeys brauchen eine Adresse mit Domain und https. Fragen Sie den Betreiber dieses Dienstes.',
    unsupported: 'Dieser Browser unterstützt keine Passkeys.',
    noScript: 'Um einen Passkey hinzuzufügen, ist JavaScript nötig.',
    otherWay: 'Sie können Ihr Konto stattdessen mit Codes aus einer App schützen.',
    signIn: 'Mit einem Passkey anmelden',
    messages: {
      failed: 'Das hat nicht geklappt. Bitte versuchen Sie es noch einmal.',
      NotAllowedError:
        'Das wurde abgebrochen, hat zu lange gedauert, oder hier gibt es keinen Passkey für diese Website.',
      SecurityError: 'Unter dieser Adresse funktionieren Passkeys nicht.',
      RATE_LIMIT_EXCEEDED: 'Zu viele Versuche. Bitte warten Sie eine Minute und versuchen Sie es noch einmal.',
    },
  },
  identities: {
    label: 'Verbindungen',
    title: 'Verbindungen',
    purpose: 'Mit dem Konto anmelden, das Sie bei einem Identitätsanbieter haben, etwa bei Ihrer Firma.',
    intro: 'Mit jedem dieser Identitätsanbieter können Sie sich anmelden.',
    none: 'Ihr Konto ist mit keinem Identitätsanbieter verbunden.',
    external: 'Sie melden sich über eine andere Anwendung an. Verwalten Sie Ihre Verbindungen dort.',
    connectedOn: (when) => `Verbunden am ${when}`,
    lastUsed: (when) => `Zuletzt verwendet am ${when}`,
    connect: (name) => `Mit ${name} verbinden`,
    leading: (name) => `Es geht weiter zu ${name}. Melden Sie sich dort an, um die Konten zu verbinden.`,
    goOn: (name) => `Weiter zu ${name}`,
    remove: 'Entfernen',
    removeSpoken: (name) => `Verbindung mit ${name} entfernen`,
    added: 'Die Konten sind verbunden. Sie können sich ab jetzt mit diesem Identitätsanbieter anmelden.',
    removed: 'Die Verbindung wurde entfernt. Mit diesem Identitätsanbieter können Sie sich nicht mehr anmelden.',
    signInFirst:
      'Um Verbindungen zu ändern, melden Sie sich erneut an: Ihre letzte Anmeldung liegt mehr als 15 Minuten zurück.',
  },
  password: {
    label: 'Passwort',
    title: 'Passwort ändern',
    purpose: 'Ändern Sie das Passwort, mit dem Sie sich anmelden.',
    current: 'Aktuelles Passwort',
    new: 'Neues Passwort',
    submit: 'Passwort ändern',
    consequence: 'Hier bleiben Sie angemeldet; auf allen anderen Geräten werden Sie abgemeldet.',
    done: 'Ihr Passwort wurde geändert. Auf allen anderen Geräten sind Sie abgemeldet.',
    none: 'Ihr Konto hat kein Passwort. Wir können Ihnen einen Link schicken, um eines festzulegen.',
    set: 'Passwort festlegen',
    external: 'Sie melden sich über eine andere Anwendung an. Ändern Sie Ihr Passwort dort.',
  },
  emailCode: {
    offer: 'Anmeldecode per E-Mail senden',
    title: 'Mit einem Code anmelden',
    text: 'Wir schicken Ihnen einen Code, mit dem Sie sich anmelden. Er gilt 5 Minuten und nur einmal.',
    submit: 'Code senden',
    enterTitle: 'Code eingeben',
    sent: (email) => `Wenn es ein Konto für ${email} gibt, ist ein Code unterwegs. Er gilt 5 Minuten und nur einmal.`,
    code: 'Code aus der E-Mail',
    hint: 'Sechs Ziffern.',
    signIn: 'Anmelden',
    again: 'Neuen Code senden',
  },
  tokens: {
    label: 'API-Token',
    title: 'API-Token',
    purpose: 'Erstellen Sie Token für Skripte und Server, und widerrufen Sie sie.',
    intro: 'Mit einem API-Token handelt ein Skript oder ein Server für Sie.',
    none: 'Sie haben keine API-Token.',
    all: 'Hat alle Ihre Rechte',
    created: (when) => `Erstellt am ${when}`,
    lastUsed: (when) => `Zuletzt verwendet am ${when}`,
    unused: 'Noch nie verwendet',
    expires: (when) => `Läuft am ${when} ab`,
    expired: 'Abgelaufen',
    never: 'Läuft nicht ab',
    revoke: 'Widerrufen',
    revokeSpoken: (name) => `Widerrufen: ${name}`,
    revoked: 'Das Token wurde widerrufen. Es gilt nicht mehr.',
    createTitle: 'Token erstellen',
    nameHint: 'Zum Beispiel der Name des Skripts oder Servers.',
    rights: 'Rechte',
    chosen: 'Nur was ich unten auswähle',
    allRights: 'Alle meine Rechte',
    scopes: 'Das Token darf',
    expiry: 'Läuft ab',
    lifetimes: { 30: 'In 30 Tagen', 90: 'In 90 Tagen', 365: 'In einem Jahr', never: 'Nie' },
    code: 'Code aus der App',
    codeHint: 'Um ein Token zu erstellen, brauchen Sie Ihren zweiten Faktor.',
    signInFirst:
      'Um ein Token zu erstellen, melden Sie sich erneut mit einem Passkey an: Sie haben in den letzten 15 Minuten ' +
      'keinen benutzt.',
    submit: 'Token erstellen',
    needsScope: 'Wählen Sie aus, was das Token darf, oder geben Sie ihm alle Ihre Rechte.',
    allOrSome: 'Sie haben sowohl alle als auch einzelne Rechte gewählt. Entscheiden Sie sich für eines von beiden.',
    newTitle: 'Ihr neues Token',
    newText: (name) => `„${name}“ wurde erstellt. Kopieren Sie das Token jetzt: Es wird nicht noch einmal gezeigt.`,
    token: 'Token',
    copied: 'Ich habe das Token kopiert',
  },
  connections: {
    label: 'Server',
    title: 'Verbindungen zu Servern',
    purpose: 'Zugangsdaten eingeben oder löschen, die Ihre Agenten bei anderen Servern verwenden.',
    listIntro:
      'Diese Server brauchen Zugangsdaten von Ihnen. Sie werden nur für Aufrufe verwendet, mit denen Agenten für Sie ' +
      'handeln.',
    none: 'Kein Server braucht Zugangsdaten von Ihnen.',
    notConnected: 'Nicht verbunden',
    connected: (when: string) => `Verbunden seit ${when}.`,
    connectTitle: (server: string) => `Mit ${server} verbinden`,
    intro: (server: string) =>
      `Ihre Agenten können ${server} verwenden, sobald Sie die Zugangsdaten eingegeben haben. Sie werden ` +
      'verschlüsselt gespeichert, nicht wieder angezeigt und nur für Aufrufe verwendet, mit denen Agenten für Sie ' +
      'handeln.',
    introSignIn: (server: string) =>
      `Ihre Agenten können ${server} verwenden, sobald Sie sich dort angemeldet haben. Die Token, die der Server ` +
      'dann ausstellt, werden verschlüsselt gespeichert und nur für Aufrufe verwendet, mit denen Agenten für Sie ' +
      'handeln.',
    leave: (host: string) =>
      `Sie melden sich bei ${host} an und entscheiden dort, was Sie erlauben. Danach kommen Sie hierher zurück.`,
    continue: 'Weiter',
    failed:
      'Die Anmeldung bei diesem Server ist gerade nicht möglich. Versuchen Sie es später, oder fragen Sie den ' +
      'Betreiber.',
    connect: 'Verbinden',
    change: 'Ändern',
    disconnect: 'Trennen',
    done: {
      connected: 'Sie sind verbunden. Ihr Agent kann seine Anfrage wiederholen.',
      disconnected: 'Die Zugangsdaten wurden gelöscht.',
      refused: 'Der andere Server hat die Verbindung nicht erlaubt.',
    },
  },
};
