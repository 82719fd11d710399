/** A request with its response. */
export interface Operation {
  /** Milliseconds of the clock of the recording process. */
  readonly startedAt: number;
  /** When the complete response had arrived, or when the request failed. */
  readonly endedAt: number;
  /** The number of the instance that received the request. */
  readonly instance: number;
  /** Undefined if no response arrived. */
  readonly status?: number | undefined;
  readonly what: Asked | Granted | Ended | Redeemed | Other;
}

/** The request needs all of `rights`. */
export interface Asked {
  readonly kind: 'asked';
  readonly rights: readonly string[];
  /** Undefined if the response says neither, such as 503. */
  readonly allowed?: boolean | undefined;
  /** The call may be refused for a reason other than its rights: a cap, an approval. */
  readonly isConditional?: boolean;
  readonly auditId?: string | undefined;
  /** Present if the request is a decision. */
  readonly agentId?: string;
  readonly resource?: string;
}

/** A right began, if `succeeded`. Each right is given at most once. */
export interface Granted {
  readonly kind: 'granted';
  readonly right: string;
  readonly succeeded: boolean;
}

/** A right ended, if `succeeded`; otherwise it may have ended. */
export interface Ended {
  readonly kind: 'ended';
  readonly right: string;
  readonly succeeded: boolean;
}

/** A secret that is valid once was used. */
export interface Redeemed {
  readonly kind: 'redeemed';
  readonly secret: string;
  readonly succeeded: boolean;
}

/** Only the status is checked. */
export interface Other {
  readonly kind: 'other';
  readonly name: string;
}

/** A row of the ledger. */
export interface LedgerRow {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly timestamp: number;
  readonly agentId: string | null;
  readonly resource: string | null;
  readonly result: string | null;
  readonly reason: string | null;
}

/** The number of calls of an agent on a resource that may be allowed within one clock hour, or in total. */
export interface Cap {
  readonly agentId: string;
  readonly resource: string;
  readonly limit: number;
  readonly per: 'hour' | 'ever';
}

export interface History {
  readonly operations: readonly Operation[];
  /** The rows are in the order of the sequence. */
  readonly ledger: readonly LedgerRow[];
  readonly caps: readonly Cap[];
}

export interface Violation {
  readonly rule: string;
  readonly detail: string;
}
