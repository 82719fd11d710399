/**
 * The witnesses of the sealed ledger (C2SP tlog-witness, tlog-cosignature, tlog-policy): others who remember its newest
 * checkpoint and cosign only what continues it.
 *
 * Guarantees: a checkpoint is sent only after it is durable; decisions and sealing never wait for a witness; what is
 * served as cosigned meets the quorum of `ledger.policy`. The witness itself is src/witness.
 */
export { cosigner, meets } from './cosigner.ts';
export { readPolicy } from './policy.ts';
