/** Texts about the sealed ledger, in English. */
export const sealEn = {
  proof: 'Proof',
  downloadProof: 'Download the proof',
  proofHolds: 'The proof holds: the sealed ledger contains this decision unchanged.',
  proofHalf:
    'All checks that this browser can do hold. It does not support Ed25519, so check the signature on another ' +
    'machine.',
  proofRefuted: 'The proof does not hold. Keep the file, and contact the auditors of this service.',
  noWebCrypto:
    'This page can only check proofs over https or on localhost. Download the proof and check it with npx legate ' +
    'verify.',
  claims: {
    entry: (_row: string, _size: string) => 'The proof is about this decision.',
    private: (_row: string, _size: string) =>
      'Parameters, address and user agent are the same as when they were sealed.',
    inclusion: (row: string, size: string) => `The decision is row ${row} of a tree of ${size} rows.`,
    signature: (_row: string, _size: string) => 'The tree is signed with the key of the ledger.',
  },
  holds: 'Holds',
  doesNotHold: 'Does not hold',
  notChecked: 'Not checked',
  sealedLog: 'Sealed ledger',
  verifierKey: 'Verifier key',
  witnesses: 'Witnesses',
  noWitnesses: 'No witness has cosigned.',
  proofTrust:
    'This page was served by the service that it checks, and so was the key. To check without relying on the ' +
    'service, compare the key with the one that its owner published elsewhere, and verify the file on another ' +
    'machine. Signatures of witnesses are not checked here.',
  copyCommand: 'Copy the command',
  sealing: 'Sealing',
  sealStates: { on: 'On', off: 'Off' },
  sealedRows: 'Signed rows',
  sealedUpTo: (signed: string, head: string) => `${signed} of ${head} rows of the ledger are sealed.`,
  cosignedRows: 'Cosigned rows',
  publishedRows: 'Published rows',
  sealHalted: 'Sealing has stopped',
  lastCosigned: 'Last cosigned',
  failure: 'Last failure',
};
export type SealTexts = typeof sealEn;
