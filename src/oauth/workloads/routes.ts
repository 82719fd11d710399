import { z } from 'zod';
import { AgentErrors } from '../../authorization/agents/index.ts';
import { idOf, idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { TrustErrors } from './errors.ts';
import { CreateTrust, MAX_TRUST, Trust } from './schema.ts';
import { addTrust, listTrust, removeTrust } from './trust.ts';

const mayRead = { scope: 'agents:read', resource: 'legate:agents', action: 'read', self: true } as const;
const mayWrite = { scope: 'agents:write', resource: 'legate:agents', action: 'write', self: false } as const;
const bothIds = z.object({ id: idOf('agent'), trustId: idOf('trust') });
const { AGENT_NOT_FOUND, AGENT_REVOKED, INSUFFICIENT_PERMISSIONS } = AgentErrors;

/** Contract 23.4. */
export const trustRoutes = [
  defineRoute({
    method: 'POST',
    path: '/agents/:id/trust',
    summary: 'Let a workload act as an agent',
    description:
      'A workload with a token of this issuer and subject exchanges it for an access token of the agent at the token ' +
      'endpoint (grant type `urn:ietf:params:oauth:grant-type:jwt-bearer`), so that it needs no secret of this ' +
      `service. An agent trusts at most ${MAX_TRUST} workloads.`,
    access: mayWrite,
    params: idParams('agent'),
    body: CreateTrust,
    responses: { 201: Trust },
    errors: [
      AGENT_NOT_FOUND,
      AGENT_REVOKED,
      INSUFFICIENT_PERMISSIONS,
      TrustErrors.ISSUER_UNKNOWN,
      TrustErrors.TRUST_LIMIT_EXCEEDED,
    ],
    handle: async (call, platform) => ({
      status: 201,
      body: await addTrust(platform, call, call.params.id, call.body),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/agents/:id/trust',
    summary: 'List the workloads that may act as an agent',
    access: mayRead,
    params: idParams('agent'),
    responses: { 200: z.array(Trust) },
    errors: [AGENT_NOT_FOUND],
    handle: async (call, platform) => ({ status: 200, body: await listTrust(platform, call, call.params.id) }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/agents/:id/trust',
    summary: 'Remove all trusted workloads of an agent',
    description: 'Access tokens issued through them end immediately.',
    access: mayWrite,
    params: idParams('agent'),
    responses: { 204: null },
    errors: [AGENT_NOT_FOUND, AGENT_REVOKED, INSUFFICIENT_PERMISSIONS],
    handle: async (call, platform) => {
      await removeTrust(platform, call, call.params.id, undefined);
      return { status: 204 };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/agents/:id/trust/:trustId',
    summary: 'Remove a trusted workload of an agent',
    description: 'Access tokens issued through them end immediately.',
    access: mayWrite,
    params: bothIds,
    responses: { 204: null },
    errors: [AGENT_NOT_FOUND, AGENT_REVOKED, INSUFFICIENT_PERMISSIONS, TrustErrors.TRUST_NOT_FOUND],
    handle: async (call, platform) => {
      await removeTrust(platform, call, call.params.id, call.params.trustId);
      return { status: 204 };
    },
  }),
];
