import { defineErrors } from '../../kernel/errors.ts';

/** Contract 17.11. */
export const IdempotencyErrors = defineErrors({
  IDEMPOTENCY_KEY_REUSED: [422, 'The Idempotency-Key was used for another request. Use a new key for each request.'],
  IDEMPOTENCY_IN_PROGRESS: [409, 'The request with this Idempotency-Key is still running. Try again later.'],
  IDEMPOTENCY_SECRET_GONE: [
    409,
    'The request was carried out. Its answer contained a secret, which is shown only once and is not kept.',
  ],
  IDEMPOTENCY_ANSWER_GONE: [
    409,
    'The request was carried out. Its answer is not kept, because it is too long or the service stopped before it ' +
      'was complete.',
  ],
});
