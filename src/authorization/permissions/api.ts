import { asOverHttp } from '../../access/in-process.ts';
import { ANONYMOUS } from '../../access/principal.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { type Asker, type AuthorizeAnswer, type AuthorizeInput, authorize } from './authorize.ts';
import { AuthorizeBody } from './authorize-body.ts';
import { REASONS, type Reason } from './reasons.ts';
import { assertAgentNamed } from './routes.ts';

/** A question of the embedding application, which always names the agent. */
export type Question = Omit<AuthorizeInput, 'at'> & {
  readonly agentId: string;
  /** Of a dry run: the time to decide for, as ISO 8601 or a Date. */
  readonly at?: string | Date | undefined;
};

/**
 * Like {@link AuthorizeAnswer}, but `reason` is the text for people and `code` the value that programs compare
 * (contract 6).
 */
export interface CheckAnswer extends Omit<AuthorizeAnswer, 'reason'> {
  /** Such as `Rate limit exceeded`. Present if not allowed. */
  readonly reason?: string;
  /** Such as `RATE_LIMITED`. Present if not allowed. */
  readonly code?: Reason;
}

/** Decisions as functions, with an admin's rights: the embedding application may ask about every agent. */
export interface DecisionsApi {
  /**
   * POST /authorize. Resolves after the record is durable. Throws 400, 404 AGENT_NOT_FOUND and 503 AUDIT_UNAVAILABLE as
   * {@link LegateError}.
   *
   * @param token the agent's own token or the access token with which it called, which the application has verified:
   *   its holder is recorded as `askedBy`. Without it, the application itself asks.
   */
  authorize(question: Question, token?: string): Promise<AuthorizeAnswer>;
  /** Makes the same decision, recorded and counted in the same way, with a reason to display. */
  check(question: Question): Promise<CheckAnswer>;
}

export function decisionsApi(platform: Platform): DecisionsApi {
  const ask = async (question: Question, token?: string): Promise<AuthorizeAnswer> => {
    const startedAt = performance.now();
    const input = parseWith(AuthorizeBody, asOverHttp(question));
    const { agentId } = input;
    assertAgentNamed(undefined, input);
    const asker: Asker = {
      principal: null,
      holder: token === undefined || agentId === undefined ? undefined : platform.holderOf(token, agentId),
      epoch: -1,
      reauthenticate: async () => ANONYMOUS,
      ip: null,
      userAgent: null,
      startedAt,
    };
    return authorize(platform, asker, input);
  };
  return {
    authorize: ask,
    check: async (question: Question) => {
      const { reason, ...answer } = await ask(question);
      return reason === undefined ? answer : { ...answer, reason: REASONS[reason], code: reason };
    },
  };
}
