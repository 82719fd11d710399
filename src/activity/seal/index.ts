import { defineModule } from '../../platform.ts';
import { openSealedLog } from './begin.ts';
import { SealErrors } from './errors.ts';
import { thinCheckpoints, thinning } from './kept-checkpoints.ts';
import { pruneLedger, pruning } from './prune.ts';
import { publisher } from './publication/index.ts';
import { ledgerStatus } from './read-log.ts';
import { sealRoutes } from './routes.ts';
import { sealer } from './sealer.ts';
import { cosigner } from './witnesses/index.ts';

/**
 * The sealed ledger: every row becomes a leaf of a Merkle tree (RFC 6962) after its commit, and the root is signed
 * (C2SP tlog-checkpoint), so that anyone with the key can verify offline that the ledger contains an entry unchanged.
 *
 * Guarantees: two trees of the same size are never signed under one name; leaf hashes do not reveal their content; a
 * failure never affects decisions; the service does not start with a rolled-back database.
 *
 * `entry-text.ts` and `tree.ts` define what is hashed, `sealer.ts` follows the ledger, `begin.ts` begins and continues
 * the log, `proofs.ts` answers requests, `witnesses/` has checkpoints cosigned, `publication/` has them published and
 * stamped. The verifier is src/verify. The ledger itself is in src/ledger.
 */
export { type LedgerApi, ledgerApi } from './api.ts';
export { checkSealedLedger } from './check.ts';
export { erasePerson } from './erasure/erase-person.ts';
export { pruneLedger } from './prune.ts';
export { endRolledBackLog } from './recover.ts';
export { keepRemains, sealedUpTo } from './remains.ts';
export { recordAddedKey, recordRetiredKeys, rotationState } from './rotate-key.ts';

/** GET /health/ready reports rows that have waited longer than this for a checkpoint. */
const LATE_SECONDS = 60;

export const seal = defineModule({
  name: 'ledger',
  description: 'The sealed ledger: checkpoints, proofs and tiles.',
  routes: sealRoutes,
  errors: SealErrors,
  states: [sealer, cosigner, publisher, thinning, pruning],
  readiness: {
    name: 'seal',
    check: async (platform) => {
      const { isOpen, halted, cannotAnchor } = platform.stateOf(sealer);
      if (!isOpen) return undefined;
      if (halted !== undefined) return 'halted';
      if (cannotAnchor) return 'behind';
      return (await platform.stateOf(sealer).lagSeconds()) > LATE_SECONDS ? 'behind' : 'ok';
    },
  },
  gauges: [
    {
      name: 'seal_lag_rows',
      help: 'Rows of the ledger that no signed checkpoint covers.',
      read: async (platform) => (await ledgerStatus(platform)).lagRows,
    },
    {
      name: 'seal_lag_seconds',
      help: 'Age of the oldest row that no signed checkpoint covers.',
      read: async (platform) => platform.stateOf(sealer).lagSeconds(),
    },
    {
      name: 'seal_unpublished_rows',
      help: 'Rows that a checkpoint covers but no published one. 0 without ledger.publish.',
      read: async (platform) => {
        const { signedSize, publishedSize } = await ledgerStatus(platform);
        return publishedSize === null ? 0 : signedSize - publishedSize;
      },
    },
    {
      name: 'seal_uncosigned_rows',
      help: 'Rows that a checkpoint covers but no cosigned one. 0 without witnesses.',
      read: async (platform) => {
        const { signedSize, cosignedSize } = await ledgerStatus(platform);
        return cosignedSize === null ? 0 : signedSize - cosignedSize;
      },
    },
  ],
  upkeep: async (platform) => {
    platform.background.run('publishing checkpoints of the ledger', () => platform.stateOf(publisher).run());
    await thinCheckpoints(platform);
    await pruneLedger(platform);
  },
  start: openSealedLog,
  stop: async (platform) => {
    platform.stateOf(cosigner).stop();
    await platform.stateOf(pruning).follower.stop();
    await platform.stateOf(sealer).stop();
  },
});
