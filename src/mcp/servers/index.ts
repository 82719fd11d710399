import { defineModule } from '../../platform.ts';
import { McpErrors } from './errors.ts';
import { metadataRoutes } from './metadata-routes.ts';
import { rateGate } from './rate-gate.ts';
import { serverRoutes } from './routes.ts';
import { findTools } from './store.ts';

/**
 * Registered MCP servers: protected resources with a name, an endpoint, tools and a limit per minute.
 *
 * Guarantees: names are unique; tokens are issued and valid only for registered servers; `rateLimit.rpm` is exact over
 * all agents and instances.
 *
 * The guard in front of a server is in `../guard`. Tokens are issued by `src/oauth`.
 */
export { expressMcp, fastifyMcp, honoMcp, type McpAuth, protectMcp } from '../guard/protect.ts';
export { missingScopes } from '../guard/scope-check.ts';
export type { TokenValidation } from '../guard/token-validation.ts';
export { type McpApi, mcpApi } from './api.ts';
export type { McpServer } from './schema.ts';
export { findServers, findTools } from './store.ts';

export const mcp = defineModule({
  name: 'mcp',
  description: 'MCP servers: their registration, metadata, limits and guard.',
  routes: [...serverRoutes, ...metadataRoutes],
  errors: McpErrors,
  gate: rateGate,
  knownResources: findTools,
});
