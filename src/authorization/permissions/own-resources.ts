import type { OwnResource } from '../../access/principal.ts';
import type { CompiledAgent } from './compile.ts';

/**
 * Whether the agent may act on what its owner owns (contract 4). Only the agent's own entries without constraints
 * count: a limited, conditional or delegated permission is for decisions and opens no endpoint of the service. The
 * pattern must name the service literally, so that `*` never opens the owner's audit log or webhooks. While the owner
 * is suspended, the agent may only ask for decisions, which say so.
 */
export function mayUseOwnResource(
  agent: CompiledAgent,
  resource: OwnResource,
  action: 'read' | 'write' | 'check',
): boolean {
  if (agent.owner_suspended !== 0 && action !== 'check') return false;
  return agent.index
    .match(resource)
    .some(
      (e) =>
        e.permission.resource.startsWith('legate:') &&
        e.link === undefined &&
        e.permission.constraints === undefined &&
        (e.actions === undefined || e.actions.has(action)),
    );
}
