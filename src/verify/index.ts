/**
 * Checks proofs and checkpoints of a sealed ledger offline, without anything else of Legate.
 *
 * Guarantees: trust comes from the caller's keys, never from the file that is checked; what is shown of an entry is
 * parsed from the bytes that the proof covers, and from nothing else; anything that is not canonical is refused.
 *
 * The formats are those of C2SP (signed-note, tlog-checkpoint, tlog-cosignature, tlog-proof, tlog-policy). Proofs are
 * made by activity/seal, which uses this folder for what it gets from witnesses only.
 */
export { Refuted, Undecidable } from './canonical.ts';
export {
  type Checkpoint,
  LOG_KEY,
  openCheckpoint,
  type Policy,
  parseKey,
  parsePolicy,
  policyOfKeys,
  type TrustedKey,
} from './checkpoint.ts';
export { verifyExport } from './export.ts';
export { verifyConsistency, verifyProof } from './proof.ts';
export { runVerify, runVerifyOnline } from './run.ts';
export { type SealedLater, sealedLater, sealingChange } from './sealed-later.ts';
export { assertConsistent } from './tree.ts';
