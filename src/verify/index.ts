/**
 * Checks proofs and checkpoints of a sealed ledger offline, without any other part of Legate.
 *
 * Guarantees: trust comes from the caller's keys, never from the file that is checked; the printed parts of an entry
 * are parsed only from the bytes that the proof covers; content that is not canonical is refused.
 *
 * The formats are those of C2SP (signed-note, tlog-checkpoint, tlog-cosignature, tlog-proof, tlog-policy). Proofs are
 * created by activity/seal, which uses this folder only to check answers of witnesses.
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
