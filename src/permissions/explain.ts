import { clockHour } from '../lib/clock.ts';
import { agentStatus, type CompiledAgent, compileEntries } from './compile.ts';
import type { Ask, Decision, Usage } from './decide.ts';
import { PatternIndex } from './pattern.ts';
import type { Permission } from './schema.ts';

export type EntryOutcome = 'allowed' | 'resource-not-matched' | 'action-not-matched' | 'rate-limited' | 'not-needed' | 'agent-not-active';

/** Each entry looked at, in order, and why it did or did not allow. */
export interface Trace {
  readonly agentStatus: 'active' | 'revoked' | 'expired';
  readonly entries: readonly {
    readonly index: number;
    readonly resource: string;
    readonly actions: readonly string[];
    readonly constraints?: Permission['constraints'];
    readonly outcome: EntryOutcome;
    /** Calls allowed in this hour under the entry's cap, before this decision. */
    readonly used?: number;
    readonly limit?: number;
  }[];
  /** Entries beyond the first hundred that did not match are left out of `entries`. */
  readonly omitted: number;
}

const MAX_SHOWN = 100;

/** The same decision with every entry shown. Costs a walk over all entries, so only when asked for. */
export function explain(agent: CompiledAgent, ask: Ask, usage: Usage, decision: Decision): Trace {
  const status = agentStatus(agent, ask.now);
  const hour = clockHour(ask.now);
  const allowedBy = decision.allowed ? decision.grant.entries[0]?.position : undefined;
  let omitted = 0;
  const entries: Trace['entries'][number][] = [];
  for (const entry of compileEntries(agent.id, agent.permissions)) {
    const { permission, cap, position } = entry;
    const outcome = ((): EntryOutcome => {
      const index = new PatternIndex<true>();
      index.add(permission.resource, true);
      let matches = false;
      index.match(ask.resource, () => {
        matches = true;
      });
      if (!matches) return 'resource-not-matched';
      if (entry.actions && !entry.actions.has(ask.action)) return 'action-not-matched';
      if (status !== 'active') return 'agent-not-active';
      if (position === allowedBy) return 'allowed';
      if (allowedBy !== undefined && position > allowedBy) return 'not-needed';
      return 'rate-limited';
    })();
    const matched = outcome !== 'resource-not-matched' && outcome !== 'action-not-matched';
    if (!matched && entries.length >= MAX_SHOWN) {
      omitted++;
      continue;
    }
    entries.push({
      index: position,
      resource: permission.resource,
      actions: permission.actions,
      ...(permission.constraints ? { constraints: permission.constraints } : {}),
      outcome,
      ...(cap && matched ? { used: usage.used(cap.counterKey, hour), limit: cap.limit } : {}),
    });
  }
  return { agentStatus: status, entries, omitted };
}
