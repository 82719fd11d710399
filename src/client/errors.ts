import type { AuthorizeDecision } from './types.ts';

export interface ErrorFields {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly details?: Record<string, unknown> | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

/** A request that failed. */
export class LegateError extends Error {
  /**
   * Code of the service's error (docs/errors.md); newer services may have more. `NETWORK_ERROR`, `TIMEOUT` and
   * `INVALID_ANSWER` come from the client itself.
   */
  readonly code: string;
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  readonly details: Record<string, unknown> | undefined;
  /** Id of the request in the log of the service. */
  readonly requestId: string | undefined;
  /** Seconds after which the request may succeed. */
  readonly retryAfter: number | undefined;

  constructor({ code, status, message, details, requestId, retryAfter, cause }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'LegateError';
    this.code = code;
    this.status = status;
    this.details = details;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** Thrown by `client.require`: the agent may not do it. `code` is the reason. */
export class DeniedError extends LegateError {
  readonly decision: AuthorizeDecision;

  constructor(decision: AuthorizeDecision, action: string, resource: string) {
    const code = decision.reason ?? 'DENIED';
    super({
      code,
      status: 200,
      message: `${action} on ${resource} is denied: ${code}`,
      retryAfter: decision.retryAfter,
    });
    this.name = 'DeniedError';
    this.decision = decision;
  }
}
