import { asId, type Id } from '../../kernel/ids.ts';
import type { McpAuth } from '../guard/guard-options.ts';

/** Identifies the caller. Sessions and tasks of another caller are not accessible. */
export const callerOf = ({ agentId, actorId, userId }: McpAuth): string => `${agentId} ${actorId ?? ''} ${userId}`;

/** Returns the agent that decisions are about. */
export const agentOf = ({ agentId, actorId }: McpAuth): Id<'agent'> => asId('agent', actorId ?? agentId);
