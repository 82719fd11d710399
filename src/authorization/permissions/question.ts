import type { Actor } from '../../access/actor.ts';
import type { Principal } from '../../access/principal.ts';
import { isoTime, SECOND_MS } from '../../kernel/clock.ts';
import type { Db } from '../../storage/index.ts';
import type { Decision, Refusal } from './decide.ts';
import type { Trace, TraceRoom } from './explain.ts';
import type { Reason } from './reasons.ts';
import type { Permission } from './schema.ts';

export interface AuthorizeInput {
  /** An agent that asks about itself may omit it. */
  readonly agentId?: string | undefined;
  readonly action: string;
  readonly resource: string;
  readonly arguments?: Record<string, unknown> | undefined;
  readonly context?: { readonly ip?: string | undefined; readonly userAgent?: string | undefined } | undefined;
  readonly explain?: boolean | undefined;
  /** Returns the same answer, but counts and records nothing, so there is no auditId. */
  readonly dryRun?: boolean | undefined;
  readonly tokensCost?: number | undefined;
  /** Of a dry run: a draft in place of the agent's own permissions. */
  readonly permissions?: readonly Permission[] | undefined;
  /** Of a dry run: the time to decide for, on the current policy. */
  readonly at?: number | undefined;
}

/** Specification 2.4 and contract 6. */
export interface AuthorizeAnswer {
  readonly allowed: boolean;
  readonly auditId?: string;
  readonly reason?: Reason;
  /** Seconds until the window of a RATE_LIMITED refusal ends. */
  readonly retryAfter?: number;
  readonly limit?: number;
  readonly remaining?: number;
  readonly resetAt?: string;
  /** With APPROVAL_REQUIRED: the approval that a person has to decide on. */
  readonly approvalId?: string;
  /** With APPROVAL_REQUIRED: the limit of waiting calls that is reached, so that no approval was requested. */
  readonly approvalLimit?: { readonly per: 'agent' | 'owner'; readonly limit: number };
  readonly trace?: Trace;
}

/** The caller who asks the question. */
export interface Asker {
  /** null: the embedding application itself, which may ask about every agent. */
  readonly principal: Principal | null;
  /** With `principal: null`: the holder of the token that the agent sent, which the application has verified. */
  readonly holder?: Actor | undefined;
  /** Epoch up to which the principal is known to be valid; -1 if unknown. */
  readonly epoch: number;
  /** Authenticates the same credential again. Throws 401 if it is no longer valid. */
  readonly reauthenticate: (db: Db) => Promise<Principal>;
  /** Address of the connection. */
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** performance.now() when the request arrived. */
  readonly startedAt: number;
  /** Shared by the questions of a request. Without it, each question has its own. */
  readonly traceRoom?: TraceRoom;
}

export function answerOf(
  decision: Decision,
  auditId: string | undefined,
  now: number,
  trace: Trace | undefined,
): AuthorizeAnswer {
  const { allowed } = decision;
  const answer: AuthorizeAnswer = auditId === undefined ? { allowed } : { allowed, auditId };
  if (!decision.allowed) Object.assign(answer, refusalOf(decision, now));
  return trace ? Object.assign(answer, { trace }) : answer;
}

function refusalOf(refusal: Refusal, now: number): Partial<AuthorizeAnswer> {
  const { reason, resetAt = now, limit = 0 } = refusal;
  if (reason !== 'RATE_LIMITED') return { reason };
  const retryAfter = Math.max(1, Math.ceil((resetAt - now) / SECOND_MS));
  return { reason, retryAfter, limit, remaining: 0, resetAt: isoTime(resetAt) };
}
