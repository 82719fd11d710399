import { defineErrors } from '../../kernel/errors.ts';

export const AgentLookupErrors = defineErrors({
  AGENT_NOT_FOUND: [404, 'No such agent.'],
});
