/**
 * A witness of sealed logs (C2SP tlog-witness): it remembers the newest checkpoint of each log that it knows, and
 * cosigns the next one only if that continues it. A log that shows different histories to different people cannot get
 * both cosigned.
 *
 * Guarantees: what a checkpoint is compared with, and the new checkpoint, are one atomic step, durable before the
 * cosignature leaves; the signed time is the witness's own; of a log that forks, both notes are kept.
 *
 * Checkpoints and proofs are checked by src/verify. The other side, a ledger that asks witnesses, is
 * src/activity/seal/witnesses.
 */
export { openWitness, type Witness } from './add-checkpoint.ts';
export { serveWitness } from './server.ts';
