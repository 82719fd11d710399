import type { OwnResource } from '../../access/principal.ts';
import type { CompiledAgent } from './compile.ts';

/**
 * May the agent act within what its owner owns (contract 4)? Only own entries without constraints count: what is capped,
 * conditional or delegated is a permission for decisions, not a power over the service. The pattern must name the service
 * literally, so that `*` never opens the audit log or the webhooks of the owner.
 */
export function mayUseOwnResource(
  agent: CompiledAgent,
  resource: OwnResource,
  action: 'read' | 'write' | 'check',
): boolean {
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
