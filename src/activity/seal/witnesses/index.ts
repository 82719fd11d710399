/**
 * The witnesses of the sealed ledger (C2SP tlog-witness, tlog-cosignature, tlog-policy): independent services that
 * remember its newest checkpoint and cosign only trees that continue it.
 *
 * Guarantees: a checkpoint is sent only after it is durable; decisions and sealing never wait for a witness; every
 * checkpoint that is served as cosigned meets the quorum of `ledger.policy`. The witness itself is src/witness.
 */
export { cosigner, meets } from './cosigner.ts';
export { readPolicy } from './policy.ts';
