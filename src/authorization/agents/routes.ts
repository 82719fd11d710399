import { z } from 'zod';
import { nextPage, totalCount } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { PolicyErrors } from '../permissions/errors.ts';
import { createAgent } from './create-agent.ts';
import { AgentErrors } from './errors.ts';
import { getAgent, getEffectivePermissions } from './get-agent.ts';
import { listAgentSummaries, listAgents } from './list-agents.ts';
import { revokeAgent, revokeManyAgents } from './revoke-agent.ts';
import { rotateAgent } from './rotate-agent.ts';
import {
  Agent,
  AgentSummary,
  AgentWithToken,
  CreateAgent,
  EffectivePermission,
  ListAgents,
  RevokeAgents,
  UpdateAgent,
} from './schema.ts';
import { updateAgent } from './update-agent.ts';

const mayRead = { scope: 'agents:read', resource: 'legate:agents', action: 'read', self: true } as const;
const mayWrite = { scope: 'agents:write', resource: 'legate:agents', action: 'write', self: false } as const;

/** Any text: a malformed id is 404 like an unknown one. */

const {
  AGENT_NOT_FOUND,
  AGENT_REVOKED,
  AGENT_LIMIT_EXCEEDED,
  EXPIRES_AT_IN_PAST,
  INSUFFICIENT_PERMISSIONS,
  OWNER_NOT_FOUND,
} = AgentErrors;

/** Specification 4.1. */
export const agentRoutes = [
  defineRoute({
    method: 'POST',
    path: '/agents',
    summary: 'Register an agent',
    description: 'The answer contains the agent token, which is shown only once.',
    access: mayWrite,
    versioned: true,
    body: CreateAgent,
    responses: { 201: AgentWithToken },
    secrets: ['token'],
    errors: [
      AGENT_LIMIT_EXCEEDED,
      INSUFFICIENT_PERMISSIONS,
      EXPIRES_AT_IN_PAST,
      OWNER_NOT_FOUND,
      PolicyErrors.POLICY_TOO_LARGE,
    ],
    handle: async (call, platform) => ({ status: 201, body: await createAgent(platform, call, call.body) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/agents',
    summary: 'List agents',
    description:
      'The agents of the caller, or all agents for an admin, oldest first. A Link header with rel="next" points to ' +
      'the next page, and Legate-Total-Count has the number of agents on all pages. If decisions change the order, ' +
      'the next page continues after the last agent in the new order.',
    access: mayRead,
    query: ListAgents,
    longPages: true,
    total: true,
    responses: { 200: z.array(Agent).or(z.array(AgentSummary)) },
    handle: async (call, platform) => {
      const { limit, cursor, view, ...filter } = call.query;
      const list = view === 'summary' ? listAgentSummaries : listAgents;
      const { agents, next, total } = await list(platform, call, filter, { limit, cursor });
      return { status: 200, body: agents, headers: { ...nextPage(call.url, next).headers, ...totalCount(total) } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/agents/:id',
    summary: 'Get an agent',
    access: mayRead,
    versioned: true,
    params: idParams('agent'),
    responses: { 200: Agent },
    errors: [AGENT_NOT_FOUND],
    handle: async (call, platform) => ({ status: 200, body: await getAgent(platform, call, call.params.id) }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/agents/:id',
    summary: 'Change an agent',
    description: 'Absent fields do not change. Hour counters of unchanged permissions are kept.',
    access: mayWrite,
    preview: true,
    versioned: true,
    params: idParams('agent'),
    body: UpdateAgent,
    responses: { 200: Agent },
    errors: [
      AGENT_NOT_FOUND,
      AGENT_REVOKED,
      AGENT_LIMIT_EXCEEDED,
      INSUFFICIENT_PERMISSIONS,
      EXPIRES_AT_IN_PAST,
      PolicyErrors.POLICY_TOO_LARGE,
    ],
    handle: async (call, platform) => ({
      status: 200,
      body: await updateAgent(platform, call, call.params.id, call.body),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/agents/:id',
    summary: 'Revoke an agent permanently',
    description: 'The agent remains readable with status revoked. Revoking it again is also 204.',
    access: mayWrite,
    preview: true,
    versioned: true,
    params: idParams('agent'),
    responses: { 204: null },
    errors: [AGENT_NOT_FOUND],
    handle: async (call, platform) => {
      await revokeAgent(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/agents/revoke',
    summary: 'Revoke several agents permanently',
    description: 'All of them or none. Agents that are already revoked do not change.',
    access: mayWrite,
    preview: true,
    body: RevokeAgents,
    responses: { 204: null },
    errors: [AGENT_NOT_FOUND],
    handle: async (call, platform) => {
      await revokeManyAgents(platform, call, call.body.agentIds);
      return { status: 204 };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/agents/:id/rotate',
    summary: 'Issue a new agent token',
    description: 'The previous token stops working immediately.',
    access: mayWrite,
    versioned: true,
    params: idParams('agent'),
    responses: { 200: AgentWithToken },
    secrets: ['token'],
    errors: [AGENT_NOT_FOUND, AGENT_REVOKED, INSUFFICIENT_PERMISSIONS],
    handle: async (call, platform) => ({ status: 200, body: await rotateAgent(platform, call, call.params.id) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/agents/:id/permissions',
    summary: 'List what an agent may do now',
    description:
      'Empty for a revoked or expired agent. At most 10,000 permissions are listed and 1,000 agents of its chains ' +
      'are read; the header `Legate-Complete` is `false` if the agent may hold more.',
    access: mayRead,
    params: idParams('agent'),
    responses: { 200: z.array(EffectivePermission) },
    errors: [AGENT_NOT_FOUND],
    handle: async (call, platform) => {
      const { permissions, complete } = await getEffectivePermissions(platform, call, call.params.id);
      return { status: 200, body: permissions, headers: { 'legate-complete': String(complete) } };
    },
  }),
];
