import { defineModule } from '../../platform.ts';
import { IdempotencyErrors } from './errors.ts';
import { deleteExpiredAnswers } from './store.ts';

/**
 * `Idempotency-Key`: a POST that is sent again has one effect and one answer (contract 17.11).
 *
 * Guarantees: the row that prevents a second effect commits with the first one, so neither a crash nor a second
 * instance can intervene; no secret is stored; without the header nothing is read or written.
 *
 * `once.ts` handles such a request, `keyed-ledger.ts` writes the row in the transaction of the effect, `request-key.ts`
 * defines which requests are the same.
 */
export const idempotency = defineModule({
  name: 'idempotency',
  description: 'Requests that are sent again.',
  errors: IdempotencyErrors,
  upkeep: deleteExpiredAnswers,
});
