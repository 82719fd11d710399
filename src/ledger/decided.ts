import type { Actor } from '../access/actor.ts';
import { storedObject } from './stored-json.ts';

/** The caller who requested a decision, if that was not the agent itself (contract 17.4). */
export type AskedBy = Pick<Actor, 'kind' | 'id' | 'userId' | 'clientId' | 'grantId' | 'workload' | 'enterprise'>;

/**
 * The parts of an audit entry that have no columns. Stored in the column `decided`, so that the decision can be
 * evaluated again under the same conditions.
 */
export interface Decided {
  /** Resource pattern of the agent's entry that allowed the call or whose constraint refused it. */
  readonly pattern?: string | undefined;
  /**
   * If a received entry refused the call: the chain from the root to the agent. For an allowed call the chain is in its
   * own column.
   */
  readonly chain?: readonly string[] | undefined;
  /** Absent: the agent itself. */
  readonly askedBy?: AskedBy | undefined;
  /** The approval that the call used. */
  readonly approvalId?: string | undefined;
  /** A person had approved the call, but it was refused for another reason, so the approval was not used. */
  readonly approved?: boolean | undefined;
  /** Counters of limits on calls as the decision found them, in the order in which it first looked at each. */
  readonly used?: readonly number[] | undefined;
  /**
   * Results of the argument patterns in the order of evaluation, `1` or `0` each. Present if arguments were redacted,
   * so that the recorded ones cannot be matched again.
   */
  readonly matched?: string | undefined;
  /** The budget or MCP server whose limit refused a call that permissions allowed. */
  readonly refusedBy?: string | undefined;
  /** The private fields of the entry were erased. */
  readonly erased?: boolean | undefined;
}

/** The names are short, because every entry except the simplest kind stores them. */
interface Stored {
  readonly p?: string | undefined;
  readonly d?: readonly string[] | undefined;
  readonly q?: AskedBy | undefined;
  readonly a?: string | undefined;
  readonly v?: 1 | undefined;
  readonly u?: readonly number[] | undefined;
  readonly m?: string | undefined;
  readonly b?: string | undefined;
  readonly e?: 1 | undefined;
}

/**
 * Returns the text that is stored. For the usual decision, requested by the agent itself, this is the plain pattern;
 * JSON begins with a brace.
 */
export function writeDecided(decided: Decided): string | null {
  const { pattern, chain, askedBy, approvalId, approved, used, matched, refusedBy, erased } = decided;
  if (!(chain || askedBy || approvalId || approved || used || matched || refusedBy || erased)) {
    if (pattern === undefined) return null;
    if (!pattern.startsWith('{')) return pattern;
  }
  // JSON leaves out what is undefined.
  const stored: Stored = {
    p: pattern,
    d: chain,
    q: askedBy,
    a: approvalId || undefined,
    v: approved ? 1 : undefined,
    u: used,
    m: matched || undefined,
    b: refusedBy || undefined,
    e: erased ? 1 : undefined,
  };
  return JSON.stringify(stored);
}

const NOTHING: Decided = {};

export function readDecided(text: string | null): Decided {
  if (text === null) return NOTHING;
  if (!text.startsWith('{')) return { pattern: text };
  const { p, d, q, a, v, u, m, b, e } = storedObject(text) as Stored;
  return {
    pattern: p,
    chain: Array.isArray(d) ? d : undefined,
    askedBy: q,
    approvalId: a,
    approved: v === 1,
    used: u,
    matched: m,
    refusedBy: b,
    erased: e === 1,
  };
}

/** The actor without its address. */
export const askedByOf = ({ kind, id, userId, clientId, grantId, workload, enterprise }: Actor): AskedBy => ({
  kind,
  id,
  ...(userId === undefined ? {} : { userId }),
  ...(clientId === undefined ? {} : { clientId }),
  ...(grantId === undefined ? {} : { grantId }),
  ...(workload === undefined ? {} : { workload }),
  ...(enterprise === undefined ? {} : { enterprise }),
});
