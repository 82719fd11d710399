import { defineErrors } from '../../kernel/errors.ts';

export const AgentKeysErrors = defineErrors({
  AGENT_KEYS_NOT_FOUND: [404, 'The agent has no keys.'],
});
