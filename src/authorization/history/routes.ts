import { z } from 'zod';
import { nextPage, PageQuery } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { AgentErrors } from '../agents/index.ts';
import { DelegationErrors } from '../delegations/errors.ts';
import { listAgentVersions, listDelegationVersions } from './list-versions.ts';
import { PolicyVersion } from './schema.ts';

const description =
  'Newest first: each change with its actor, its reason if the request gave one, and the fields that changed. ' +
  'A Link header with rel="next" points to the next page.';

export const historyRoutes = [
  defineRoute({
    method: 'GET',
    path: '/agents/:id/history',
    summary: 'List the versions of an agent',
    description,
    access: { scope: 'agents:read', resource: 'legate:agents', action: 'read', self: true },
    params: idParams('agent'),
    query: PageQuery,
    longPages: true,
    responses: { 200: z.array(PolicyVersion) },
    errors: [AgentErrors.AGENT_NOT_FOUND],
    handle: async (call, platform) => {
      const { versions, next } = await listAgentVersions(platform, call.visibility, call.params.id, call.query);
      return { status: 200, body: versions, ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/delegations/:id/history',
    summary: 'List the versions of a delegation',
    description: `${description} A delegation that has ended keeps its history.`,
    access: { scope: 'delegations:read', resource: 'legate:delegations', action: 'read', self: true },
    params: idParams('delegation'),
    query: PageQuery,
    longPages: true,
    responses: { 200: z.array(PolicyVersion) },
    errors: [DelegationErrors.DELEGATION_NOT_FOUND],
    handle: async (call, platform) => {
      const { versions, next } = await listDelegationVersions(platform, call.visibility, call.params.id, call.query);
      return { status: 200, body: versions, ...nextPage(call.url, next) };
    },
  }),
];
