import { defineModule } from '../platform.ts';
import { accessTokenCredential } from './credential.ts';
import { forgetStale } from './delete-client.ts';
import { ClientErrors, OAuthErrors } from './errors.ts';
import { endGrants } from './grants.ts';
import { oauthRoutes } from './routes.ts';

export { validateToken } from './validate-token.ts';

export const oauth = defineModule({
  name: 'oauth',
  description: 'The OAuth 2.1 authorization server that MCP clients sign in to.',
  routes: oauthRoutes,
  errors: { ...OAuthErrors, ...ClientErrors },
  credentials: [accessTokenCredential],
  upkeep: forgetStale,
  reactions: {
    'agent.revoked': async (change, { agentId }) => {
      if (agentId === undefined) return;
      await endGrants(change, { agent_id: agentId }, 'agent-revoked');
      await endGrants(change, { actor_id: agentId }, 'agent-revoked');
      await change.db.deleteFrom('oauth_consents').where('agent_id', '=', agentId).execute();
    },
    // Tokens that the agent token before opened end with it.
    'agent.rotated': async (change, { agentId }) => {
      if (agentId === undefined) return;
      await endGrants(change, { agent_id: agentId, kind: 'client_credentials' }, 'agent-rotated');
      await endGrants(change, { actor_id: agentId }, 'agent-rotated');
    },
    'delegation.revoked': async (change, { data }) => {
      await endGrants(change, { delegation_id: String(data['delegationId']) }, 'delegation-revoked');
    },
  },
});
