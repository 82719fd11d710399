import type { AgentRow } from '../storage/index.ts';
import type { Preview } from './preview-schema.ts';

/** An agent that can do less. */
export interface AgentLoss {
  readonly agent: Pick<AgentRow, 'id' | 'name' | 'owner_id'>;
  /** Its effective permissions that it loses, as the API shows them. */
  readonly lost: Preview['loses'][number]['permissions'];
  /** Number of effective permissions that it keeps. */
  readonly left: number;
  /** Waiting approvals that the agent could no longer use. */
  readonly approvals: number;
}

/** The data that was read while the change was open. `compare` reads nothing and may run after it. */
export interface Losses {
  compare(): Promise<AgentLoss[]>;
}
