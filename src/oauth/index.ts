/**
 * The OAuth 2.1 authorization server that MCP clients sign in to: metadata, clients, the authorization endpoint with
 * its consent page, the token endpoint, revocation and introspection.
 *
 * A grant is a row to which every token refers. Ending a grant takes effect on the next request with any of its tokens,
 * on every instance. Codes, refresh tokens and consent forms are single-use, each by one atomic statement. Secrets are
 * stored as hashes. The change that ends an agent, a delegation or an account also ends the grants that depend on it.
 *
 * `authorize/` and `consent/` have the authorization endpoint and its page, `device/` the device authorization grant,
 * `token/` the token endpoint with one file for each grant type, `tokens/` introspection and revocation, `clients/` and
 * `metadata/` clients and the documents about this server, `workloads/` and `agent-keys/` the ways in which agents
 * authenticate without a secret.
 *
 * The registered resources and the metadata of protected resources are in src/mcp; sign-in is in src/people; the pages'
 * texts and components are in src/pages.
 */

import { chunk } from '../kernel/chunk.ts';
import type { Id } from '../kernel/ids.ts';
import type { NewEvent } from '../ledger/index.ts';
import { defineModule } from '../platform.ts';
import { AgentKeysErrors } from './agent-keys/errors.ts';
import { removeKeysOfUser } from './agent-keys/keys.ts';
import { agentKeysRoutes } from './agent-keys/routes.ts';
import { findClientName } from './authorize/find-client-name.ts';
import { clientKeys } from './clients/client-assertion.ts';
import { deleteStale } from './clients/delete-client.ts';
import { metadataDocuments } from './clients/metadata-document.ts';
import { endLostUses } from './consent/end-issuer.ts';
import { endResource } from './consent/end-resource.ts';
import { endGrants, endGrantsOfUsers } from './consent/grants.ts';
import { ClientErrors, OAuthErrors } from './errors.ts';
import { assertionAudiences } from './metadata/metadata.ts';
import { oauthRoutes } from './routes.ts';
import { accessTokenCredential } from './tokens/credential.ts';
import { derivedRing } from './tokens/keys.ts';
import { tokenStates } from './tokens/live-token.ts';
import { TrustErrors } from './workloads/errors.ts';
import { trustRoutes } from './workloads/routes.ts';
import { endTrustOfUser } from './workloads/trust.ts';

export { holderOfAccessToken } from './tokens/credential.ts';
export { validateToken } from './tokens/validate-token.ts';

const usersOf = (events: readonly NewEvent[]): Id<'user'>[] => events.flatMap(({ userId }) => userId ?? []);
const agentsOf = (events: readonly NewEvent[]): Id<'agent'>[] => events.flatMap(({ agentId }) => agentId ?? []);
/** Returns the endpoints that servers had before events that deleted or moved them. */
const previousEndpoints = (events: readonly NewEvent[]): string[] =>
  events.flatMap(({ before }) => (before?.['endpoint'] === undefined ? [] : String(before['endpoint'])));

export const oauth = defineModule({
  name: 'oauth',
  description: 'The OAuth 2.1 authorization server that MCP clients sign in to.',
  routes: [...oauthRoutes, ...trustRoutes, ...agentKeysRoutes],
  errors: { ...OAuthErrors, ...ClientErrors, ...TrustErrors, ...AgentKeysErrors },
  credentials: [accessTokenCredential],
  states: [metadataDocuments, clientKeys, tokenStates, derivedRing, assertionAudiences],
  upkeep: deleteStale,
  waitingFor: findClientName,
  reactions: {
    'agent.revoked': async (change, events) => {
      const ids = agentsOf(events);
      await endGrants(change, 'agent_id', ids, 'agent-revoked');
      await endGrants(change, 'actor_id', ids, 'agent-revoked');
      for (const some of chunk(ids))
        for (const table of ['oauth_consents', 'agent_trust', 'agent_keys'] as const)
          await change.db.deleteFrom(table).where('agent_id', 'in', some).execute();
    },
    // Grants that were obtained with the previous agent token end with it.
    'agent.rotated': async (change, events) => {
      const ids = agentsOf(events);
      await endGrants(change, 'agent_id', ids, 'agent-rotated', 'client_credentials');
      await endGrants(change, 'actor_id', ids, 'agent-rotated');
    },
    // `credentials`: a password reset, or the first verification of an account's address. An auditor cannot change
    // anything, so applications must not do so for them.
    'user.updated': async (change, events) => {
      const ended = events.filter(({ data }) => (data['changed'] as readonly string[]).includes('credentials'));
      await endGrantsOfUsers(change, usersOf(ended), 'credentials-ended');
      // A stranger who created the account before its address was verified may have added their own workloads and keys.
      for (const { userId, data } of events)
        if (userId !== undefined && data['reason'] === 'address-proved') {
          await endTrustOfUser(change, userId);
          await removeKeysOfUser(change, userId);
        }
      const auditors = events.filter(({ after }) => after?.['role'] === 'auditor');
      await endGrantsOfUsers(change, usersOf(auditors), 'role-changed');
      const suspended = usersOf(events.filter(({ after }) => after?.['status'] === 'suspended'));
      await endGrantsOfUsers(change, suspended, 'owner-suspended');
      for (const some of chunk(suspended)) {
        const actors = await change.db.selectFrom('agents').select('id').where('owner_id', 'in', some).execute();
        await endGrants(
          change,
          'actor_id',
          actors.map(({ id }) => id),
          'owner-suspended',
        );
      }
    },
    'issuer.updated': async (change, events, platform) => {
      for (const event of events) await endLostUses(platform, change, event);
    },
    'issuer.deleted': async (change, events, platform) => {
      for (const event of events) await endLostUses(platform, change, event);
    },
    'mcp.deleted': async (change, events, platform) => {
      for (const endpoint of previousEndpoints(events)) await endResource(platform, change, endpoint, 'server-deleted');
    },
    'mcp.updated': async (change, events, platform) => {
      for (const endpoint of previousEndpoints(events)) await endResource(platform, change, endpoint, 'server-moved');
    },
    'delegation.revoked': async (change, events) => {
      const ids = events.map(({ data }) => String(data['delegationId']));
      await endGrants(change, 'delegation_id', ids, 'delegation-revoked');
    },
  },
});
