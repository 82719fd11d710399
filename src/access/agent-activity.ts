import type { Id } from '../kernel/ids.ts';

/** Recent activity of an agent. */
export interface Activity {
  /** Decisions in the current clock hour and the 24 before it. */
  readonly calls: number;
  /** Number of these decisions that were not allowed. */
  readonly refused: number;
  /** Returns the same for each of these hours, oldest first. */
  readonly hours: () => { readonly calls: number; readonly refused: number }[];
  /** Time of the newest decision; null: there was none. */
  readonly lastDecisionAt: number | null;
}

/** Looks up activity by the id of an agent. `activity/dashboard` implements it, from the ledger. */
export type AgentActivity = (agentId: Id<'agent'>) => Activity;
