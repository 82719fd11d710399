import type { SealTexts } from './seal-en.ts';

/** Texte über das versiegelte Protokoll, auf Deutsch. */
export const sealDe: SealTexts = {
  proof: 'Beweis',
  downloadProof: 'Beweis herunterladen',
  proofHolds: 'Der Beweis stimmt: Diese Entscheidung steht unverändert im versiegelten Protokoll.',
  proofHalf:
    'Was dieser Browser prüfen kann, stimmt. Ed25519 kennt er nicht; prüfen Sie die Unterschrift auf einem anderen Rechner.',
  proofRefuted: 'Der Beweis stimmt nicht. Heben Sie die Datei auf und wenden Sie sich an die Revision dieses Dienstes.',
  noWebCrypto:
    'Diese Seite kann Beweise nur über https oder auf localhost prüfen. Laden Sie den Beweis herunter und prüfen Sie ihn ' +
    'mit npx legate verify.',
  claims: {
    entry: () => 'Der Beweis gilt für diese Entscheidung.',
    private: () => 'Parameter, Adresse und Browserkennung sind die versiegelten.',
    inclusion: (row, size) => `Die Entscheidung ist Zeile ${row} eines Baums von ${size} Zeilen.`,
    signature: () => 'Der Baum ist mit dem Schlüssel des Protokolls unterschrieben.',
  },
  holds: 'Stimmt',
  doesNotHold: 'Stimmt nicht',
  notChecked: 'Nicht geprüft',
  sealedLog: 'Versiegeltes Protokoll',
  verifierKey: 'Prüfschlüssel',
  witnesses: 'Zeugen',
  noWitnesses: 'Kein Zeuge hat mitunterschrieben.',
  proofTrust:
    'Diese Seite kommt von dem Dienst, den sie prüft, und der Schlüssel auch. Um ohne Vertrauen in den Dienst zu ' +
    'prüfen, vergleichen Sie den Schlüssel mit dem, den der Betreiber an anderer Stelle veröffentlicht hat, und prüfen ' +
    'die Datei auf einem anderen Rechner. Unterschriften von Zeugen werden hier nicht geprüft.',
  copyCommand: 'Befehl kopieren',
  sealing: 'Versiegelung',
  sealStates: { on: 'An', off: 'Aus' },
  sealedRows: 'Unterschriebene Zeilen',
  sealedUpTo: (signed, head) => `${signed} von ${head} Zeilen des Protokolls sind versiegelt.`,
  cosignedRows: 'Mitunterschriebene Zeilen',
  publishedRows: 'Veröffentlichte Zeilen',
  sealHalted: 'Die Versiegelung steht still',
  lastCosigned: 'Zuletzt mitunterschrieben',
  failure: 'Letzter Fehler',
};
