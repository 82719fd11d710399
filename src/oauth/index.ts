import { chunk } from '../kernel/chunk.ts';
import type { NewEvent } from '../ledger/index.ts';
import { defineModule } from '../platform.ts';
import { clientOf } from './authorize/client-of.ts';
import { forgetStale } from './clients/delete-client.ts';
import { endGrants, endGrantsOf } from './consent/grants.ts';
import { ClientErrors, OAuthErrors } from './errors.ts';
import { oauthRoutes } from './routes.ts';
import { accessTokenCredential } from './tokens/credential.ts';

export { validateToken } from './tokens/validate-token.ts';

const agentsOf = (events: readonly NewEvent[]): string[] => events.flatMap(({ agentId }) => agentId ?? []);

export const oauth = defineModule({
  name: 'oauth',
  description: 'The OAuth 2.1 authorization server that MCP clients sign in to.',
  routes: oauthRoutes,
  errors: { ...OAuthErrors, ...ClientErrors },
  credentials: [accessTokenCredential],
  upkeep: forgetStale,
  waitingFor: clientOf,
  reactions: {
    'agent.revoked': async (change, events) => {
      const ids = agentsOf(events);
      await endGrants(change, 'agent_id', ids, 'agent-revoked');
      await endGrants(change, 'actor_id', ids, 'agent-revoked');
      for (const some of chunk(ids))
        await change.db.deleteFrom('oauth_consents').where('agent_id', 'in', some).execute();
    },
    // Tokens that the agent token before opened end with it.
    'agent.rotated': async (change, events) => {
      const ids = agentsOf(events);
      await endGrants(change, 'agent_id', ids, 'agent-rotated', 'client_credentials');
      await endGrants(change, 'actor_id', ids, 'agent-rotated');
    },
    // After a reset of the password, and when the owner of an account first verifies its address.
    'user.updated': async (change, events) => {
      const ended = events.filter(({ data }) => (data['changed'] as readonly string[]).includes('credentials'));
      await endGrantsOf(
        change,
        ended.flatMap(({ userId }) => userId ?? []),
      );
    },
    'delegation.revoked': async (change, events) => {
      const ids = events.map(({ data }) => String(data['delegationId']));
      await endGrants(change, 'delegation_id', ids, 'delegation-revoked');
    },
  },
});
