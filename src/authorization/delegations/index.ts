/**
 * Delegations: one agent passes a subset of its permissions to another (specification 3.2, contract 7).
 *
 * Guarantees: a delegation grants only permissions that its source holds at the time of the decision; chains have no
 * cycle, and at most as many links as their smallest `maxDepth`; agents of different owners must share a tenant;
 * revoking one ends its descendants in the same commit, each with an event; the number of delegations from and to an
 * agent is limited.
 *
 * Elsewhere: the rule for a link and the walk up a chain are in ../permissions/chains.ts; token exchange (oauth)
 * creates delegations through this module.
 */
import { defineModule } from '../../platform.ts';
import { DelegationErrors } from './errors.ts';
import { endDelegationsAcrossOwners, endDelegationsOfAgent } from './revoke-delegation.ts';
import { delegationRoutes } from './routes.ts';

export { type DelegationsApi, delegationsApi } from './api.ts';
export { createDelegationIn } from './create-delegation.ts';
export { endDelegations } from './revoke-delegation.ts';
export type { Delegation } from './schema.ts';

export const delegations = defineModule({
  name: 'delegations',
  description: 'Lets agents pass on part of their permissions, checked along the chain at each decision.',
  routes: delegationRoutes,
  errors: DelegationErrors,
  reactions: {
    'agent.revoked': async (change, events) => {
      for (const { agentId } of events) if (agentId !== undefined) await endDelegationsOfAgent(change, agentId);
    },
    'user.updated': async (change, events) => {
      for (const { userId, data } of events) {
        if (userId === undefined) continue;
        // Agents of different owners may share permissions within one tenant only.
        if ((data['changed'] as readonly string[]).includes('tenantId'))
          await endDelegationsAcrossOwners(change, userId, 'tenant-changed');
        if (data['reason'] === 'address-proved') await endDelegationsAcrossOwners(change, userId, 'address-proved');
      }
    },
  },
});
