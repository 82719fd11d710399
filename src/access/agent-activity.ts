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

/** The values of an activity by which agents are ordered. No decision counts as time 0. */
export type ActivityKey = 'calls' | 'refused' | 'lastDecisionAt';

/** The place of an agent in an order: by its value, and by its id among equal values. */
export interface Place {
  readonly value: number;
  readonly id: Id<'agent'>;
}

export interface ActivityOrder {
  readonly key: ActivityKey;
  readonly descending: boolean;
}

/** The activity of all agents. `activity/dashboard` implements it, from the ledger. */
export interface AgentActivity {
  of(agentId: Id<'agent'>): Activity;
  /** Returns the first agents after a place, of those whose value is not 0. */
  first(order: ActivityOrder, after: Place | undefined, limit: number): Place[];
  /** Returns the agents with a decision at or after this time, or undefined if there are more than `limit`. */
  since(time: number, limit: number): Id<'agent'>[] | undefined;
}
