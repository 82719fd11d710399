import type { McpAuth } from '../guard/guard-options.ts';

/** Identifies the caller. Sessions and tasks of another caller are not accessible. */
export const callerOf = ({ agentId, actorId, userId }: McpAuth): string => `${agentId} ${actorId ?? ''} ${userId}`;
