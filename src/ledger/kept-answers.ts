import { DAY_MS } from '../kernel/clock.ts';
import type { IdempotencyKeyRow } from '../storage/index.ts';

/** How long the answer to a request with an `Idempotency-Key` is kept (contract 17.11). */
export const KEPT_MS = DAY_MS;
/** Answers of up to this length are always kept, in characters of their JSON. */
const SHORT_CHARS = 65_536;
/**
 * Longest answer that is kept. The largest permissions that a request can contain fit, and the explanations of a
 * hundred decisions about an agent with several hundred of them.
 */
export const MAX_KEPT_CHARS = 16_777_216;
/** Longer answers that are kept for one owner at an instance, within the time that answers are kept. */
export const LONG_CHARS_PER_OWNER = 67_108_864;

/** Limits how much is kept for each owner in answers that are not short. */
export class LongAnswers {
  /** In the order of their beginning. */
  readonly #windows = new Map<string, { readonly since: number; chars: number }>();

  /** Returns whether an answer of this length may be kept, and then counts it. */
  admit(owner: string, chars: number, now: number): boolean {
    if (chars > MAX_KEPT_CHARS) return false;
    for (const [other, { since }] of this.#windows) {
      // The clock may have been set back.
      if (Math.abs(now - since) < KEPT_MS) break;
      this.#windows.delete(other);
    }
    const window = this.#windows.get(owner) ?? { since: now, chars: 0 };
    if (window.chars + chars > LONG_CHARS_PER_OWNER) return false;
    window.chars += chars;
    this.#windows.set(owner, window);
    return true;
  }
}

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
  /** Returns whether an answer of this length, which is not short, may be kept. */
  readonly admitLong: (chars: number, now: number) => boolean;
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
  const tooLong = json !== null && json.length > SHORT_CHARS && !key.admitLong(json.length, now);
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
