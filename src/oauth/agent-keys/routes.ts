import { AgentErrors } from '../../authorization/agents/index.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { AgentKeysErrors } from './errors.ts';
import { getKeys, removeKeys, setKeys } from './keys.ts';
import { AgentKeys, SetAgentKeys } from './schema.ts';

const mayWrite = { scope: 'agents:write', resource: 'legate:agents', action: 'write', self: false } as const;
const { AGENT_NOT_FOUND, AGENT_REVOKED, INSUFFICIENT_PERMISSIONS } = AgentErrors;
const { AGENT_KEYS_NOT_FOUND } = AgentKeysErrors;

/** In bytes. Small, because the keys are read at each request that the agent authenticates with them. */
const BODY_LIMIT = 65_536;

/** Contract 23.4. */
export const agentKeysRoutes = [
  defineRoute({
    method: 'PUT',
    path: '/agents/:id/keys',
    summary: 'Set the public keys of an agent',
    description:
      'The agent then authenticates at the OAuth endpoints with an assertion that it signs (`private_key_jwt`, RFC ' +
      '7523, section 2.2; issuer and subject are its id) instead of its agent token. Replacing keys ends the ' +
      'access tokens that the agent obtained for itself. To add a key, send the ETag of the keys as If-Match, or ' +
      '`If-None-Match: *` if there are none yet.',
    access: mayWrite,
    versioned: true,
    params: idParams('agent'),
    body: SetAgentKeys,
    bodyLimit: BODY_LIMIT,
    responses: { 200: AgentKeys },
    errors: [AGENT_NOT_FOUND, AGENT_REVOKED, INSUFFICIENT_PERMISSIONS],
    handle: async (call, platform) => ({
      status: 200,
      body: await setKeys(platform, call, call.params.id, call.body),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/agents/:id/keys',
    summary: 'Get the public keys of an agent',
    access: { scope: 'agents:read', resource: 'legate:agents', action: 'read', self: true },
    versioned: true,
    params: idParams('agent'),
    responses: { 200: AgentKeys },
    errors: [AGENT_NOT_FOUND, AGENT_KEYS_NOT_FOUND],
    handle: async (call, platform) => ({ status: 200, body: await getKeys(platform, call, call.params.id) }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/agents/:id/keys',
    summary: 'Remove the public keys of an agent',
    description: 'Access tokens that the agent obtained for itself end immediately.',
    access: mayWrite,
    versioned: true,
    params: idParams('agent'),
    responses: { 204: null },
    errors: [AGENT_NOT_FOUND, AGENT_REVOKED, INSUFFICIENT_PERMISSIONS, AGENT_KEYS_NOT_FOUND],
    handle: async (call, platform) => {
      await removeKeys(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
