import type { Id } from '../../kernel/ids.ts';

/** A decision as it is counted. */
export interface Counted {
  readonly agentId: Id<'agent'>;
  readonly userId: Id<'user'>;
  readonly timestamp: number;
  readonly result: string;
  readonly durationMs: number;
}
