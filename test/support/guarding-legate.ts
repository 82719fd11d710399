import type { GuardingLegate } from '../../src/mcp/guard/protect.ts';

/** A Legate for a guard alone: every token is valid and belongs to one agent, which by default may do anything. */
export const guardingLegate = (
  scopes: readonly string[],
  authorize: GuardingLegate['authorize'] = async () => ({ allowed: true }),
): GuardingLegate => ({
  platform: { issuer: 'https://legate.example', audience: 'https://legate.example' },
  mcp: {
    validateToken: async () => ({
      valid: true,
      agentId: 'agt_1',
      userId: 'usr_1',
      scopes: [...scopes],
      expiresAt: new Date('2031-01-01'),
    }),
  },
  authorize,
});
