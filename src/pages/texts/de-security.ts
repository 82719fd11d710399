import type { enSecurity } from './en-security.ts';

/** The German texts of the pages for a person's own credentials. */
export const deSecurity: typeof enSecurity = {
  twoFactor: {
    label: 'Zweiter Faktor',
    title: 'Zweiter Faktor',
    purpose: 'Schützen Sie Ihr Konto mit Codes aus einer App, und sehen Sie, welchen Geräten Sie vertrauen.',
    due: 'Ihr Konto braucht einen zweiten Faktor. Richten Sie ihn ein, um fortzufahren.',
    external: 'Sie melden sich über eine andere Anwendung an. Richten Sie den zweiten Faktor dort ein.',
    noPassword: 'Für einen zweiten Faktor braucht Ihr Konto zuerst ein Passwort.',
    setPassword: 'Passwort festlegen',
    intro:
      'Mit einem zweiten Faktor reicht Ihr Passwort allein nicht mehr zum Anmelden: Sie geben zusätzlich einen ' +
      'Code aus einer Authentifizierungs-App auf Ihrem Telefon oder aus einem Passwortmanager ein.',
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
      'Schreiben Sie sie auf, oder bewahren Sie sie in einem Passwortmanager auf: Sie werden nicht noch einmal gezeigt.',
    saved: 'Ich habe die Codes gesichert',
    on: 'Eingeschaltet',
    onSince: (when) => `seit ${when}`,
    codesTitle: 'Ersatzcodes',
    codesLeft: (count) =>
      count === 0 ? 'Es ist kein Code mehr übrig.' : count === 1 ? 'Ein Code ist übrig.' : `${count} Codes sind übrig.`,
    renew: 'Neue Codes erstellen',
    renewTitle: 'Neue Ersatzcodes erstellen',
    renewText: 'Ihre jetzigen Codes gelten dann nicht mehr.',
    anyCodeHint: 'Sechs Ziffern oder einer Ihrer Ersatzcodes.',
    cancel: 'Abbrechen',
    offTitle: 'Zweiten Faktor ausschalten',
    offText: 'Danach reicht Ihr Passwort zum Anmelden. Ersatzcodes und vertrauenswürdige Geräte enden.',
    off: 'Ausschalten',
    offDone: 'Der zweite Faktor ist ausgeschaltet.',
    trustedTitle: 'Vertrauenswürdige Geräte',
    trustedText: 'Auf diesen Geräten reicht Ihr Passwort zum Anmelden.',
    trustedNone: 'Es gibt keine. Sie können einem Gerät vertrauen, wenn Sie beim Anmelden einen Code eingeben.',
    trustedUntil: (from, until) => `Vertraut am ${from}, bis ${until}`,
    endTrust: 'Vertrauen beenden',
    endTrustSpoken: (what) => `Vertrauen beenden: ${what}`,
    endAllTrust: 'Vertrauen in alle Geräte beenden',
    trustEnded: 'Dem Gerät wird nicht mehr vertraut.',
    allTrustEnded: 'Jetzt wird keinem Gerät vertraut.',
  },
};
