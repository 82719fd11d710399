import type { Language } from '../../pages/index.ts';

interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** All mails, in each language of the pages. `brand` is the name of the service. */
interface MailTexts {
  magicLink(brand: string, link: string): MailText;
  code(brand: string, code: string): MailText;
  verifyEmail(brand: string, link: string): MailText;
  addressTaken(brand: string, signIn: string): MailText;
  resetPassword(brand: string, link: string): MailText;
  passwordChanged(brand: string): MailText;
  passwordReset(brand: string): MailText;
  invite(brand: string, link: string): MailText;
}

const en: MailTexts = {
  magicLink: (brand, link) => ({
    subject: `Sign in to ${brand}`,
    text: `Open this link to sign in to ${brand}:\n\n${link}\n\nIt works once and for 5 minutes. If you did not ask for it, do nothing: nobody is signed in without it.\n`,
  }),
  code: (brand, code) => ({
    subject: `Your code for ${brand}`,
    text: `Your code for signing in to ${brand}:\n\n${code}\n\nIt works once and for 5 minutes. Never pass it on. If you did not ask for it, do nothing.\n`,
  }),
  verifyEmail: (brand, link) => ({
    subject: `Confirm your e-mail address for ${brand}`,
    text: `Open this link to confirm that this e-mail address is yours:\n\n${link}\n\nIt works for 24 hours. If you have no account at ${brand}, do nothing.\n`,
  }),
  addressTaken: (brand, signIn) => ({
    subject: `You have an account at ${brand} already`,
    text: `Somebody, perhaps you, wanted to make an account at ${brand} with this e-mail address. There is one already, and nothing was changed. Sign in here:\n\n${signIn}\n\nIf it was not you, do nothing.\n`,
  }),
  resetPassword: (brand, link) => ({
    subject: `Set a new password for ${brand}`,
    text: `Open this link to set a new password for ${brand}:\n\n${link}\n\nIt works once and for 1 hour. If you did not ask for it, do nothing: your password stays as it is.\n`,
  }),
  passwordChanged: (brand) => ({
    subject: `Your password for ${brand} was changed`,
    text: `The password of your account at ${brand} was changed, and other devices were signed out. If it was not you, set a new password at once and tell your administrator.\n`,
  }),
  passwordReset: (brand) => ({
    subject: `Your password for ${brand} was reset`,
    text: `A new password was set for your account at ${brand}, with a link from a mail to this address.\n\nAll devices were signed out, your API tokens no longer work, and connected applications lost their access. Your agents and their tokens are unchanged.\n\nIf it was not you, set a new password at once and tell your administrator.\n`,
  }),
  invite: (brand, link) => ({
    subject: `You are invited to ${brand}`,
    text: `You are invited to ${brand}. Open this link to make your account:\n\n${link}\n\nIt works once and for 7 days.\n`,
  }),
};

const de: MailTexts = {
  magicLink: (brand, link) => ({
    subject: `Anmelden bei ${brand}`,
    text: `Öffnen Sie diesen Link, um sich bei ${brand} anzumelden:\n\n${link}\n\nEr gilt einmal und 5 Minuten lang. Haben Sie ihn nicht angefordert, tun Sie nichts: Ohne ihn wird niemand angemeldet.\n`,
  }),
  code: (brand, code) => ({
    subject: `Ihr Code für ${brand}`,
    text: `Ihr Code für die Anmeldung bei ${brand}:\n\n${code}\n\nEr gilt einmal und 5 Minuten lang. Geben Sie ihn nie weiter. Haben Sie ihn nicht angefordert, tun Sie nichts.\n`,
  }),
  verifyEmail: (brand, link) => ({
    subject: `Bestätigen Sie Ihre E-Mail-Adresse für ${brand}`,
    text: `Öffnen Sie diesen Link, um zu bestätigen, dass diese E-Mail-Adresse Ihnen gehört:\n\n${link}\n\nEr gilt 24 Stunden. Haben Sie kein Konto bei ${brand}, tun Sie nichts.\n`,
  }),
  addressTaken: (brand, signIn) => ({
    subject: `Sie haben schon ein Konto bei ${brand}`,
    text: `Jemand, vielleicht Sie, wollte bei ${brand} ein Konto mit dieser E-Mail-Adresse anlegen. Es gibt schon eines, und nichts wurde geändert. Hier melden Sie sich an:\n\n${signIn}\n\nWaren Sie es nicht, tun Sie nichts.\n`,
  }),
  resetPassword: (brand, link) => ({
    subject: `Neues Passwort für ${brand}`,
    text: `Öffnen Sie diesen Link, um ein neues Passwort für ${brand} zu setzen:\n\n${link}\n\nEr gilt einmal und 1 Stunde lang. Haben Sie ihn nicht angefordert, tun Sie nichts: Ihr Passwort bleibt, wie es ist.\n`,
  }),
  passwordChanged: (brand) => ({
    subject: `Ihr Passwort für ${brand} wurde geändert`,
    text: `Das Passwort Ihres Kontos bei ${brand} wurde geändert, und andere Geräte wurden abgemeldet. Waren Sie es nicht, setzen Sie sofort ein neues Passwort und sagen Sie es Ihrer Verwaltung.\n`,
  }),
  passwordReset: (brand) => ({
    subject: `Ihr Passwort für ${brand} wurde zurückgesetzt`,
    text: `Für Ihr Konto bei ${brand} wurde ein neues Passwort gesetzt, mit einem Link aus einer E-Mail an diese Adresse.\n\nAlle Geräte wurden abgemeldet, Ihre API-Tokens gelten nicht mehr, und verbundene Anwendungen haben keinen Zugriff mehr. Ihre Agenten und deren Tokens sind unverändert.\n\nFalls Sie das nicht waren, setzen Sie sofort ein neues Passwort und wenden Sie sich an Ihre Administration.\n`,
  }),
  invite: (brand, link) => ({
    subject: `Sie sind zu ${brand} eingeladen`,
    text: `Sie sind zu ${brand} eingeladen. Öffnen Sie diesen Link, um Ihr Konto anzulegen:\n\n${link}\n\nEr gilt einmal und 7 Tage lang.\n`,
  }),
};

const CATALOGUE: Record<Language, MailTexts> = { en, de };

export const mailTexts = (language: Language): MailTexts => CATALOGUE[language];
