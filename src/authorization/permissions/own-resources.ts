import type { OwnResource } from '../../access/principal.ts';
import type { CompiledAgent } from './compile.ts';

/**
 * May the agent act within what its owner owns (contract 4)? Only own entries without constraints count: what is capped,
 * conditional or delegated is a permission for decisions, not a power over the service.
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
        e.link === undefined &&
        e.permission.constraints === undefined &&
        (e.actions === undefined || e.actions.has(action)),
    );
}
