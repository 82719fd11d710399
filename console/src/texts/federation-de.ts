import type { federationEn } from './federation-en.ts';

export const federationDe: typeof federationEn = {
  issuers: 'Identitätsanbieter',
  issuer: 'Identitätsanbieter',
  noIssuers:
    'Noch ist kein Identitätsanbieter eingerichtet. Über ihn können sich Personen anmelden und Workloads ohne ' +
    'Geheimnis handeln.',
  addIssuer: 'Anbieter hinzufügen',
  editOf: (name) => `${name} ändern`,
  edit: 'Ändern',
  save: 'Speichern',
  provider: 'Anbieter',
  otherProvider: 'Anderer (OpenID Connect)',
  providers: {
    google: 'Google',
    microsoft: 'Microsoft Entra ID',
    okta: 'Okta',
    auth0: 'Auth0',
    keycloak: 'Keycloak',
    gitlab: 'GitLab',
  },
  issuerNameHint: 'Kleinbuchstaben, Ziffern und Bindestriche. Der Name ist Teil der Rücksprungadresse.',
  issuerAddress: 'Adresse des Ausstellers',
  issuerAddressHint: 'Genau wie im Claim iss seiner Token.',
  issuerUse: 'Vertraut für',
  issuerUses: {
    signIn: 'Anmeldung von Personen',
    workload: 'Workloads als Agenten',
    enterprise: 'Zugriff von Anwendungen',
  },
  issuerDomains: 'Domains',
  issuerDomainsHint:
    'Domains, deren Adressen er bestätigen darf, etwa example.com. Personen mit einer solchen Adresse erhalten ihr ' +
    'bestehendes Konto.',
  inConfiguration: 'In der Konfiguration',
  issuerOfConfiguration: 'Dieser Anbieter steht in der Konfiguration und wird dort geändert.',
  removeIssuerText:
    'Seine Token werden nicht mehr akzeptiert, und die über ihn ausgestellten Zugriffstoken enden sofort.',
  audience: 'Empfänger (aud)',
  ownAddress: 'Dieser Dienst',
  algorithms: 'Algorithmen',
  publicKeys: 'Öffentliche Schlüssel',
  fromItsDocument: 'Aus seinem OpenID-Dokument',
  clientId: 'Client-ID',
  clientIdHint: 'Dieser Dienst, wie er beim Anbieter registriert ist.',
  clientSecret: 'Client-Geheimnis',
  clientSecretText:
    'Ein Geheimnis legen Sie auf der Kommandozeile fest, damit kein Skript im Browser darauf zugreifen kann.',
  applications: 'Anwendungen',
  enterpriseRequired: 'Nur dieser Anbieter darf Anwendungen für seine Personen handeln lassen',
  enterpriseOptional: 'Dieser Anbieter oder die Person darf Anwendungen handeln lassen',
  atTheProvider: 'Beim Anbieter',
  atTheProviderText: 'Registrieren Sie diese Rücksprungadresse beim Anbieter:',
  mappings: 'Was Claims bei jeder Anmeldung gewähren',
  noMappings: 'Nichts: Wer sich anmeldet, erhält die Rolle Benutzer.',
  claim: 'Claim',
  tenant: 'Mandant',
  directory: 'Verzeichnis (SCIM 2.0)',
  directoryText:
    'Unter dieser Adresse legt Ihr Verzeichnis Personen und Gruppen an, ändert und sperrt sie. Es braucht dafür das ' +
    'API-Token eines Administrators mit dem Scope scim.',
  directoryAddress: 'Adresse für das Verzeichnis',
  workloads: 'Workloads',
  workloadsText:
    'Ein Workload handelt ohne Geheimnis als dieser Agent, wenn das Token seiner Plattform zu einer Zeile passt.',
  noWorkloads: 'Kein Workload darf als dieser Agent handeln.',
  trustWorkload: 'Workload vertrauen',
  workloadSubject: 'Subjekt',
  workloadSubjectHint:
    'Claim sub seines Tokens, etwa repo:acme/shop:ref:refs/heads/main. * ersetzt einen ganzen Abschnitt.',
  furtherClaims: 'Weitere Claims',
  claimLines: 'Jede Zeile braucht einen Namen, ein Gleichheitszeichen und einen Wert.',
  furtherClaimsHint: 'Einer pro Zeile, etwa environment=production.',
  endTrust: 'Vertrauen beenden',
  endTrustQuestion: (subject) => `Das Vertrauen in ${subject} beenden?`,
  endTrustText: 'Die darüber ausgestellten Zugriffstoken enden sofort.',
};
