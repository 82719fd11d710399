import type { credentialsEn } from './credentials-en.ts';

/** The German texts of sign-ins and of the keys of agents. */
export const credentialsDe: typeof credentialsEn = {
  signInAgain: 'Neu anmelden',
  endSession: 'Sitzung beenden',
  endSessionQuestion: (device) => `Die Sitzung ${device} beenden?`,
  endSessionText: 'In diesem Browser ist dann eine neue Anmeldung nötig.',
  thisSession: 'Dieser Browser',
  resetSecondFactor: 'Zweiten Faktor zurücksetzen',
  resetSecondFactorQuestion: (name) => `Den zweiten Faktor von ${name} zurücksetzen?`,
  resetSecondFactorText:
    'Für Personen, die App und Ersatzcodes verloren haben. Beides gilt dann nicht mehr, und alle Passkeys werden ' +
    'entfernt. Das Passwort bleibt.',
  keysText:
    'Mit einem eigenen Schlüssel erhält der Agent Zugriffstoken, indem er seine Anfrage signiert, statt sein ' +
    'Token zu senden (private_key_jwt). Hier liegt nur der öffentliche Teil.',
  noKeys: 'Der Agent hat keinen Schlüssel. Er meldet sich mit seinem Token an.',
  keysAt: 'Abgerufen von',
  changedLast: 'Letzte Änderung:',
  keyId: 'Schlüsselkennung',
  keyKind: 'Art',
  makeKey: 'Schlüssel erzeugen',
  makeKeyQuestion: (name) => `Einen Schlüssel für ${name} erzeugen?`,
  makeKeyText:
    'Ihr Browser erzeugt den Schlüssel. Der private Teil wird einmal angezeigt und nie gesendet. Vorhandene ' +
    'Schlüssel bleiben gültig.',
  keysFromAddress:
    'Die Schlüssel des Agenten werden jetzt von einer Adresse abgerufen. Dort lässt sich von hier keiner hinzufügen.',
  setKeys: 'Schlüssel festlegen',
  keysAs: 'Die Schlüssel',
  keysAsChoices: { set: 'stehen hier', address: 'werden von einer Adresse abgerufen' },
  jwks: 'Öffentliche Schlüssel als JWK-Set',
  jwksHint: 'Zum Beispiel {"keys": [{"kty": "EC", ...}]}, ohne private Bestandteile.',
  jwksUri: 'Adresse eines JWK-Sets',
  setKeysHint: 'Sie ersetzen die bisherigen. Zugriffstoken, die der Agent für sich selbst erhalten hat, enden sofort.',
  endKey: 'Schlüssel entfernen',
  endKeyQuestion: (kid) => `Den Schlüssel ${kid} entfernen?`,
  endKeys: 'Alle Schlüssel entfernen',
  endKeysQuestion: (name) => `Alle Schlüssel von ${name} entfernen?`,
  endKeysText: 'Zugriffstoken, die der Agent für sich selbst erhalten hat, enden sofort.',
};
