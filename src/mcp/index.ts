import { defineModule } from '../platform.ts';
import { McpErrors } from './errors.ts';
import { metadataRoutes } from './metadata-routes.ts';
import { rateGate } from './rate-gate.ts';
import { serverRoutes } from './routes.ts';

export { type McpApi, mcpApi } from './api.ts';
export { expressMcp, fastifyMcp, honoMcp, protectMcp } from './protect.ts';
export type { McpServer } from './schema.ts';
export { missingScopes } from './scope-check.ts';
export { findServers, findTools } from './store.ts';
export type { TokenValidation } from './token-validation.ts';

export const mcp = defineModule({
  name: 'mcp',
  description: 'MCP servers: their registration, metadata, limits and guard.',
  routes: [...serverRoutes, ...metadataRoutes],
  errors: McpErrors,
  gate: rateGate,
});
