import type { SealTexts } from './seal-en.ts';

/** The German texts about the sealed ledger. */
export const sealDe: SealTexts = {
  proof: 'Beweis',
  downloadProof: 'Beweis herunterladen',
  proofHolds: 'Der Beweis stimmt: Diese Entscheidung steht unverändert im versiegelten Protokoll.',
  proofHalf:
    'Alles, was dieser Browser prüfen kann, stimmt. Ed25519 unterstützt er nicht; prüfen Sie die Signatur auf einem ' +
    'anderen Rechner.',
  proofRefuted:
    'Der Beweis stimmt nicht. Bewahren Sie die Datei auf, und wenden Sie sich an die Prüfer dieses Dienstes.',
  noWebCrypto:
    'Diese Seite kann Beweise nur über https oder auf localhost prüfen. Laden Sie den Beweis herunter und prüfen Sie ' +
    'ihn mit npx legate verify.',
  claims: {
    entry: () => 'Der Beweis gilt für diese Entscheidung.',
    private: () => 'Parameter, Adresse und User-Agent sind dieselben wie bei der Versiegelung.',
    inclusion: (row, size) => `Die Entscheidung ist Zeile ${row} eines Baums von ${size} Zeilen.`,
    signature: () => 'Der Baum ist mit dem Schlüssel des Protokolls signiert.',
  },
  holds: 'Stimmt',
  doesNotHold: 'Stimmt nicht',
  notChecked: 'Nicht geprüft',
  sealedLog: 'Versiegeltes Protokoll',
  verifierKey: 'Prüfschlüssel',
  witnesses: 'Zeugen',
  noWitnesses: 'Kein Zeuge hat mitsigniert.',
  proofTrust:
    'Diese Seite und der Schlüssel kommen von dem Dienst, der hier geprüft wird. Um ohne Vertrauen in den Dienst zu ' +
    'prüfen, vergleichen Sie den Schlüssel mit dem, den der Betreiber an anderer Stelle veröffentlicht hat, und ' +
    'prüfen die Datei auf einem anderen Rechner. Signaturen von Zeugen werden hier nicht geprüft.',
  copyCommand: 'Befehl kopieren',
  sealing: 'Versiegelung',
  sealStates: { on: 'An', off: 'Aus' },
  sealedRows: 'Signierte Zeilen',
  sealedUpTo: (signed, head) => `${signed} von ${head} Zeilen des Protokolls sind versiegelt.`,
  cosignedRows: 'Mitsignierte Zeilen',
  publishedRows: 'Veröffentlichte Zeilen',
  sealHalted: 'Die Versiegelung ist angehalten',
  lastCosigned: 'Zuletzt mitsigniert',
  failure: 'Letzter Fehler',
};
