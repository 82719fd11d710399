import type { NewEvent } from '../ledger/index.ts';
import { inPieces } from '../lib/pieces.ts';
import { defineModule } from '../platform.ts';
import { accessTokenCredential } from './credential.ts';
import { forgetStale } from './delete-client.ts';
import { ClientErrors, OAuthErrors } from './errors.ts';
import { endGrants } from './grants.ts';
import { oauthRoutes } from './routes.ts';

export { validateToken } from './validate-token.ts';

const agentsOf = (events: readonly NewEvent[]): string[] => events.flatMap(({ agentId }) => agentId ?? []);

export const oauth = defineModule({
  name: 'oauth',
  description: 'The OAuth 2.1 authorization server that MCP clients sign in to.',
  routes: oauthRoutes,
  errors: { ...OAuthErrors, ...ClientErrors },
  credentials: [accessTokenCredential],
  upkeep: forgetStale,
  reactions: {
    'agent.revoked': async (change, events) => {
      const ids = agentsOf(events);
      await endGrants(change, 'agent_id', ids, 'agent-revoked');
      await endGrants(change, 'actor_id', ids, 'agent-revoked');
      for (const some of inPieces(ids)) await change.db.deleteFrom('oauth_consents').where('agent_id', 'in', some).execute();
    },
    // Tokens that the agent token before opened end with it.
    'agent.rotated': async (change, events) => {
      const ids = agentsOf(events);
      await endGrants(change, 'agent_id', ids, 'agent-rotated', 'client_credentials');
      await endGrants(change, 'actor_id', ids, 'agent-rotated');
    },
    'delegation.revoked': async (change, events) => {
      const ids = events.map(({ data }) => String(data['delegationId']));
      await endGrants(change, 'delegation_id', ids, 'delegation-revoked');
    },
  },
});
