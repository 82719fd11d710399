import type { Language } from '../../pages/index.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** All mails, in each language of the pages. `brand` is the name of the service. */
export interface MailTexts {
  magicLink(brand: string, link: string): MailText;
  code(brand: string, code: string): MailText;
  verifyEmail(brand: string, link: string): MailText;
  addressTaken(brand: string, signIn: string): MailText;
  resetPassword(brand: string, link: string): MailText;
  passwordChanged(brand: string): MailText;
  passwordReset(brand: string): MailText;
  firstPasswordReset(brand: string): MailText;
  passkeyAdded(brand: string, name: string): MailText;
  passkeyRemoved(brand: string, name: string): MailText;
  connectionAdded(brand: string, name: string): MailText;
  connectionRemoved(brand: string, name: string): MailText;
  secondFactorOff(brand: string): MailText;
  secondFactorReset(brand: string): MailText;
  backupCodesReplaced(brand: string): MailText;
  invite(brand: string, link: string): MailText;
}

/** Joins paragraphs with empty lines. */
const mail = (subject: string, ...paragraphs: string[]): MailText => ({
  subject,
  text: `${paragraphs.join('\n\n')}\n`,
});

const en: MailTexts = {
  magicLink: (brand, link) =>
    mail(
      `Sign in to ${brand}`,
      `Open this link to sign in to ${brand}:`,
      link,
      'It works once, for 5 minutes. If you did not request it, you can ignore this message. Nobody can sign in ' +
        'without it.',
    ),
  code: (brand, code) =>
    mail(
      `Your code for ${brand}`,
      `Your code to sign in to ${brand}:`,
      code,
      'It works once, for 5 minutes. Never share it. If you did not request it, you can ignore this message.',
    ),
  verifyEmail: (brand, link) =>
    mail(
      `Confirm your e-mail address for ${brand}`,
      'Open this link to confirm that this e-mail address is yours:',
      link,
      `It works for 24 hours. If you have no account at ${brand}, you can ignore this message.`,
    ),
  addressTaken: (brand, signIn) =>
    mail(
      `You already have an account at ${brand}`,
      `Somebody, perhaps you, tried to create an account at ${brand} with this e-mail address. You already have one, ` +
        'and nothing was changed. Sign in here:',
      signIn,
      'If it was not you, you can ignore this message.',
    ),
  resetPassword: (brand, link) =>
    mail(
      `Set a new password for ${brand}`,
      `Open this link to set a new password for ${brand}:`,
      link,
      'It works once, for 1 hour. If you did not request it, you can ignore this message. Your password does not ' +
        'change.',
    ),
  passwordChanged: (brand) =>
    mail(
      `Your password for ${brand} was changed`,
      `The password of your account at ${brand} was changed, and other devices were signed out. If it was not you, ` +
        'set a new password immediately and tell your administrator.',
    ),
  passwordReset: (brand) =>
    mail(
      `Your password for ${brand} was reset`,
      `A new password was set for your account at ${brand}, using a link in a message to this address.`,
      'All devices were signed out, your API tokens no longer work, and connected applications lost their access. ' +
        'Your agents and their tokens are unchanged, and your passkeys still work.',
      'If it was not you, set a new password immediately and tell your administrator.',
    ),
  firstPasswordReset: (brand) =>
    mail(
      `Your password for ${brand} was reset`,
      `A new password was set for your account at ${brand}, using a link in a message to this address.`,
      'The link also confirmed, for the first time, that this address is yours. Somebody else could have set up the ' +
        'account before. So all devices were signed out, and passkeys, the second factor, connections with identity ' +
        'providers and MCP servers, API tokens, the tokens and keys of agents, delegations between your agents and ' +
        'those of others, webhooks, open invitations, and the access of connected applications were removed. The ' +
        'agents themselves remain. Set up again what you need.',
      'If it was not you, set a new password immediately and tell your administrator.',
    ),
  passkeyAdded: (brand, name) =>
    mail(
      `A passkey was added to your account at ${brand}`,
      `The passkey "${name}" was added to your account at ${brand}. It can sign in without your password.`,
      'If it was not you, remove it on the page of your passkeys, end the sessions that you do not know, set a new ' +
        'password, and tell your administrator.',
    ),
  passkeyRemoved: (brand, name) =>
    mail(
      `A passkey was removed from your account at ${brand}`,
      `The passkey "${name}" was removed from your account at ${brand}. It can no longer sign in.`,
      'If it was not you, set a new password immediately and tell your administrator.',
    ),
  connectionAdded: (brand, name) =>
    mail(
      `Your account at ${brand} was connected with ${name}`,
      `Your account at ${brand} was connected with ${name}. You can now sign in with ${name}.`,
      'If it was not you, remove the connection on the page of your connections, end the sessions that you do not ' +
        'know, set a new password, and tell your administrator.',
    ),
  connectionRemoved: (brand, name) =>
    mail(
      `Your account at ${brand} is no longer connected with ${name}`,
      `Your account at ${brand} is no longer connected with ${name}. You can no longer sign in with ${name}.`,
      'If it was not you, set a new password immediately and tell your administrator.',
    ),
  secondFactorOff: (brand) =>
    mail(
      `The second factor of your account at ${brand} was switched off`,
      `The second factor of your account at ${brand} was switched off. Signing in no longer needs a code, and the ` +
        'backup codes no longer work.',
      'If it was not you, end the sessions that you do not know, set a new password immediately, and tell your ' +
        'administrator.',
    ),
  secondFactorReset: (brand) =>
    mail(
      `The second factor of your account at ${brand} was reset`,
      `An administrator switched off the second factor of your account at ${brand} and removed your passkeys. ` +
        'Signing in needs no code now, and your backup codes no longer work. Set up again what you need.',
      'If you did not ask for it, tell your administrator.',
    ),
  backupCodesReplaced: (brand) =>
    mail(
      `The backup codes of your account at ${brand} were replaced`,
      `The backup codes of your account at ${brand} were replaced. The previous ones no longer work.`,
      'If it was not you, replace them again, end the sessions that you do not know, set a new password, and tell ' +
        'your administrator.',
    ),
  invite: (brand, link) =>
    mail(
      `You are invited to ${brand}`,
      `You are invited to ${brand}. Open this link to create your account:`,
      link,
      'It works once, for 7 days.',
    ),
};

const de: MailTexts = {
  magicLink: (brand, link) =>
    mail(
      `Anmelden bei ${brand}`,
      `Öffnen Sie diesen Link, um sich bei ${brand} anzumelden:`,
      link,
      'Er gilt 5 Minuten und nur einmal. Falls Sie ihn nicht angefordert haben, können Sie diese Nachricht ' +
        'ignorieren. Ohne den Link kann sich niemand anmelden.',
    ),
  code: (brand, code) =>
    mail(
      `Ihr Code für ${brand}`,
      `Ihr Code für die Anmeldung bei ${brand}:`,
      code,
      'Er gilt 5 Minuten und nur einmal. Geben Sie ihn niemals weiter. Falls Sie ihn nicht angefordert haben, können ' +
        'Sie diese Nachricht ignorieren.',
    ),
  verifyEmail: (brand, link) =>
    mail(
      `Bestätigen Sie Ihre E-Mail-Adresse für ${brand}`,
      'Öffnen Sie diesen Link, um zu bestätigen, dass diese E-Mail-Adresse Ihnen gehört:',
      link,
      `Er gilt 24 Stunden. Falls Sie kein Konto bei ${brand} haben, können Sie diese Nachricht ignorieren.`,
    ),
  addressTaken: (brand, signIn) =>
    mail(
      `Sie haben schon ein Konto bei ${brand}`,
      `Jemand, vielleicht Sie selbst, wollte bei ${brand} ein Konto mit dieser E-Mail-Adresse anlegen. Sie haben ` +
        'schon eines, und es wurde nichts geändert. Hier können Sie sich anmelden:',
      signIn,
      'Falls Sie das nicht waren, können Sie diese Nachricht ignorieren.',
    ),
  resetPassword: (brand, link) =>
    mail(
      `Neues Passwort für ${brand}`,
      `Öffnen Sie diesen Link, um ein neues Passwort für ${brand} zu setzen:`,
      link,
      'Er gilt 1 Stunde und nur einmal. Falls Sie ihn nicht angefordert haben, können Sie diese Nachricht ' +
        'ignorieren. Ihr Passwort bleibt unverändert.',
    ),
  passwordChanged: (brand) =>
    mail(
      `Ihr Passwort für ${brand} wurde geändert`,
      `Das Passwort Ihres Kontos bei ${brand} wurde geändert, und andere Geräte wurden abgemeldet. Falls Sie das ` +
        'nicht waren, legen Sie sofort ein neues Passwort fest und wenden Sie sich an Ihre Administration.',
    ),
  passwordReset: (brand) =>
    mail(
      `Ihr Passwort für ${brand} wurde zurückgesetzt`,
      `Für Ihr Konto bei ${brand} wurde über einen Link in einer E-Mail an diese Adresse ein neues Passwort gesetzt.`,
      'Alle Geräte wurden abgemeldet, Ihre API-Token gelten nicht mehr, und verbundene Anwendungen haben keinen ' +
        'Zugriff mehr. Ihre Agenten und deren Token sind unverändert, und Ihre Passkeys gelten weiter.',
      'Falls Sie das nicht waren, legen Sie sofort ein neues Passwort fest und wenden Sie sich an Ihre Administration.',
    ),
  firstPasswordReset: (brand) =>
    mail(
      `Ihr Passwort für ${brand} wurde zurückgesetzt`,
      `Für Ihr Konto bei ${brand} wurde über einen Link in einer E-Mail an diese Adresse ein neues Passwort gesetzt.`,
      'Der Link hat auch zum ersten Mal bestätigt, dass diese Adresse Ihnen gehört. Vorher hätte jemand anderes das ' +
        'Konto einrichten können. Deshalb wurden alle Geräte abgemeldet, und Passkeys, der zweite Faktor, ' +
        'Verbindungen mit Anmeldediensten und MCP-Servern, API-Token, die Token und Schlüssel der Agenten, ' +
        'Delegationen zwischen Ihren Agenten und denen anderer, Webhooks, offene Einladungen und der Zugriff ' +
        'verbundener Anwendungen wurden entfernt. Die Agenten selbst bleiben bestehen. Richten Sie wieder ein, was ' +
        'Sie brauchen.',
      'Falls Sie das nicht waren, legen Sie sofort ein neues Passwort fest und wenden Sie sich an Ihre Administration.',
    ),
  passkeyAdded: (brand, name) =>
    mail(
      `Neuer Passkey für Ihr Konto bei ${brand}`,
      `Zu Ihrem Konto bei ${brand} wurde der Passkey „${name}“ hinzugefügt. Mit ihm ist eine Anmeldung ohne Ihr ` +
        `Passwort möglich.`,
      'Falls Sie das nicht waren, entfernen Sie ihn auf der Seite Ihrer Passkeys, beenden Sie unbekannte Sitzungen, ' +
        'legen Sie ein neues Passwort fest, und wenden Sie sich an Ihre Administration.',
    ),
  passkeyRemoved: (brand, name) =>
    mail(
      `Passkey aus Ihrem Konto bei ${brand} entfernt`,
      `Der Passkey „${name}“ wurde aus Ihrem Konto bei ${brand} entfernt. Mit ihm ist keine Anmeldung mehr möglich.`,
      'Falls Sie das nicht waren, legen Sie sofort ein neues Passwort fest und wenden Sie sich an Ihre Administration.',
    ),
  connectionAdded: (brand, name) =>
    mail(
      `Ihr Konto bei ${brand} ist mit ${name} verbunden`,
      `Ihr Konto bei ${brand} wurde mit ${name} verbunden. Sie können sich jetzt mit ${name} anmelden.`,
      'Falls Sie das nicht waren, entfernen Sie die Verbindung auf der Seite Ihrer Verbindungen, beenden Sie ' +
        'unbekannte Sitzungen, legen Sie ein neues Passwort fest, und wenden Sie sich an Ihre Administration.',
    ),
  connectionRemoved: (brand, name) =>
    mail(
      `Ihr Konto bei ${brand} ist nicht mehr mit ${name} verbunden`,
      `Ihr Konto bei ${brand} ist nicht mehr mit ${name} verbunden. Mit ${name} können Sie sich nicht mehr anmelden.`,
      'Falls Sie das nicht waren, legen Sie sofort ein neues Passwort fest und wenden Sie sich an Ihre Administration.',
    ),
  secondFactorOff: (brand) =>
    mail(
      `Zweiter Faktor für Ihr Konto bei ${brand} ausgeschaltet`,
      `Für Ihr Konto bei ${brand} wurde der zweite Faktor ausgeschaltet. Für die Anmeldung ist kein Code mehr nötig, ` +
        'und die Ersatzcodes gelten nicht mehr.',
      'Falls Sie das nicht waren, beenden Sie unbekannte Sitzungen, legen Sie sofort ein neues Passwort fest, und ' +
        'wenden Sie sich an Ihre Administration.',
    ),
  secondFactorReset: (brand) =>
    mail(
      `Zweiter Faktor für Ihr Konto bei ${brand} zurückgesetzt`,
      `Die Administration hat den zweiten Faktor Ihres Kontos bei ${brand} ausgeschaltet und Ihre Passkeys entfernt. ` +
        'Für die Anmeldung ist kein Code nötig, und Ihre Ersatzcodes gelten nicht mehr. Richten Sie wieder ein, was ' +
        'Sie brauchen.',
      'Falls Sie nicht darum gebeten haben, wenden Sie sich an Ihre Administration.',
    ),
  backupCodesReplaced: (brand) =>
    mail(
      `Neue Ersatzcodes für Ihr Konto bei ${brand}`,
      `Die Ersatzcodes Ihres Kontos bei ${brand} wurden ersetzt. Die bisherigen gelten nicht mehr.`,
      'Falls Sie das nicht waren, ersetzen Sie sie noch einmal, beenden Sie unbekannte Sitzungen, legen Sie ein ' +
        'neues Passwort fest, und wenden Sie sich an Ihre Administration.',
    ),
  invite: (brand, link) =>
    mail(
      `Sie sind zu ${brand} eingeladen`,
      `Sie sind zu ${brand} eingeladen. Öffnen Sie diesen Link, um Ihr Konto anzulegen:`,
      link,
      'Er gilt 7 Tage und nur einmal.',
    ),
};

const CATALOGUE: Record<Language, MailTexts> = { en, de };

export const mailTexts = (language: Language): MailTexts => CATALOGUE[language];
