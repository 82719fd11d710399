/**
 * Publishes checkpoints at a place outside this service (`ledger.publish`), and has them stamped by a time stamping
 * authority (`ledger.tsaUrl`, RFC 3161).
 *
 * Guarantees: only checkpoints that GET /ledger/checkpoint has shown are sent; one instance at a time sends them;
 * neither decisions nor sealing wait for it.
 */
export { publisher } from './publisher.ts';
