import { DAY_MS } from '../kernel/clock.ts';
import type { IdempotencyKeyRow } from '../storage/index.ts';

/** How long the answer to a request with an `Idempotency-Key` is kept (contract 17.11). */
export const KEPT_MS = DAY_MS;
/** Longest answer that is kept, in characters of its JSON. */
const MAX_KEPT_CHARS = 65_536;

/** Number of the row with the answer of a whole request, rather than of one of its decisions. */
export const WHOLE_REQUEST = -1;

/** Identifies a decision of a request with an `Idempotency-Key`, so that it is made only once. */
export interface DecisionKey {
  /** Digest of principal, method, path and key. */
  readonly scope: string;
  /** Number of the decision within its request. */
  readonly part: number;
  /** Digest of query and body. */
  readonly fingerprint: string;
}

/** Thrown instead of repeating an effect: the request, or this decision of it, has already been carried out. */
export class AlreadyAnswered extends Error {
  readonly row: IdempotencyKeyRow;

  constructor(row: IdempotencyKeyRow) {
    super('The request has already been carried out.');
    this.row = row;
  }
}

/** The row with a kept answer. An answer that is too long is not kept; the row then only prevents a second effect. */
export function keptAnswer(
  key: DecisionKey,
  kind: IdempotencyKeyRow['kind'],
  answer: unknown,
  now: number,
): IdempotencyKeyRow {
  const json = answer === undefined ? null : JSON.stringify(answer);
  const tooLong = json !== null && json.length > MAX_KEPT_CHARS;
  return {
    scope: key.scope,
    part: key.part,
    fingerprint: key.fingerprint,
    kind: tooLong ? 'gone' : kind,
    answer: tooLong ? null : json,
    created_at: now,
    expires_at: now + KEPT_MS,
  };
}
