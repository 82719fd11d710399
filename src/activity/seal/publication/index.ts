/**
 * Publishes checkpoints where others keep them (`ledger.publish`), and has them stamped by a time stamping authority
 * (`ledger.tsaUrl`, RFC 3161).
 *
 * Guarantees: only checkpoints are sent that GET /ledger/checkpoint shows; one instance at a time sends; neither
 * decisions nor sealing wait.
 */
export { publisher } from './publisher.ts';
