import { z } from 'zod';
import { afterCursor, nextPage } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { AgentErrors } from '../agents/index.ts';
import { PolicyErrors } from '../permissions/index.ts';
import { createDelegation } from './create-delegation.ts';
import { DelegationErrors } from './errors.ts';
import { delegationGraph } from './graph.ts';
import { revokeDelegation } from './revoke-delegation.ts';
import { CreateDelegation, Delegation, DelegationGraph, GraphQuery, ListDelegations } from './schema.ts';
import { findDelegations, getDelegation, toDelegation } from './store.ts';

const mayRead = { scope: 'delegations:read', resource: 'legate:delegations', action: 'read', self: true } as const;
const mayWrite = { scope: 'delegations:write', resource: 'legate:delegations', action: 'write', self: true } as const;

const { DELEGATION_NOT_FOUND, ...rules } = DelegationErrors;

/** Specification 4.3. */
export const delegationRoutes = [
  defineRoute({
    method: 'POST',
    path: '/delegations',
    summary: 'Delegate a subset of permissions from one agent to another',
    description: 'Each decision allows only what every link of the chain, up to its root, still holds.',
    access: mayWrite,
    body: CreateDelegation,
    responses: { 201: Delegation },
    errors: [
      AgentErrors.AGENT_NOT_FOUND,
      AgentErrors.EXPIRES_AT_IN_PAST,
      PolicyErrors.POLICY_TOO_LARGE,
      AgentErrors.INSUFFICIENT_PERMISSIONS,
      ...Object.values(rules),
    ],
    handle: async (call, platform) => ({ status: 201, body: await createDelegation(platform, call, call.body) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/delegations',
    summary: 'List active delegations',
    description:
      'Delegations that an agent of the caller gives or receives, oldest first. ' +
      'A Link header with rel="next" points to the next page.',
    access: mayRead,
    query: ListDelegations,
    longPages: true,
    responses: { 200: z.array(Delegation) },
    handle: async (call, platform) => {
      const { limit, cursor, ...filter } = call.query;
      const page = { after: afterCursor('delegation', cursor), limit };
      const now = platform.clock.now();
      const { rows, next } = await findDelegations(platform, call.visibility, filter, page, now);
      return { status: 200, body: rows.map(toDelegation), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/delegations/graph',
    summary: 'Get agents and the delegations between them',
    description: 'Around an agent, in both directions, or all that are visible to the caller.',
    access: mayRead,
    query: GraphQuery,
    responses: { 200: DelegationGraph },
    errors: [AgentErrors.AGENT_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: await delegationGraph(platform, call.visibility, call.query),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/delegations/:id',
    summary: 'Get an active delegation',
    access: mayRead,
    params: idParams('delegation'),
    responses: { 200: Delegation },
    errors: [DELEGATION_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toDelegation(
        await getDelegation(platform.database.read, call.visibility, call.params.id, platform.clock.now()),
      ),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/delegations/:id',
    summary: 'Revoke a delegation and all that descend from it',
    description: 'For the owners of both agents, both agents themselves, and admins.',
    access: mayWrite,
    preview: true,
    params: idParams('delegation'),
    responses: { 204: null },
    errors: [DELEGATION_NOT_FOUND],
    handle: async (call, platform) => {
      await revokeDelegation(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
