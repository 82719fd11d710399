import type { OwnResource } from '../../access/principal.ts';
import type { CompiledAgent } from './compile.ts';
import { isUnconditional } from './schema.ts';

/**
 * Returns whether the agent may act on its owner's resources of the service (contract 4). Only the agent's own entries
 * without constraints count: a limited, conditional or delegated permission applies to decisions and gives no access to
 * endpoints of the service. The pattern must name the service literally, so that `*` never gives access to the owner's
 * audit log or webhooks. While the owner is suspended, the agent may only ask for decisions, and these report the
 * suspension.
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
        isUnconditional(e.permission) &&
        (e.actions === undefined || e.actions.has(action)),
    );
}
