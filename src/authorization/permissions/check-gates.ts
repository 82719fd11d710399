import type { BatchContext, Lacking } from '../../ledger/index.ts';
import type { Gate, GatedCall, GateResult } from '../../platform.ts';
import type { CompiledAgent } from './compile.ts';
import type { Decision } from './decide.ts';
import type { AuthorizeInput } from './question.ts';

const NO_RESULTS: readonly GateResult[] = [];

/** An allowed call must also pass every gate. The first gate that refuses decides. */
export function checkGates(
  gates: readonly Gate[],
  context: BatchContext,
  agent: CompiledAgent,
  { action, resource, tokensCost, dryRun, at }: AuthorizeInput,
  permitted: Decision,
): { readonly decision: Decision; readonly results: readonly GateResult[] } | Lacking {
  if (!permitted.allowed || gates.length === 0) return { decision: permitted, results: NO_RESULTS };
  const call: GatedCall = {
    agentId: agent.id,
    ownerId: agent.ownerId,
    action,
    resource,
    tokensCost: tokensCost ?? null,
    dryRun: dryRun ?? false,
    at: at ?? context.now,
  };
  let results: GateResult[] | undefined;
  for (const gate of gates) {
    const result = gate.check(context, call);
    if (!result) continue;
    if ('lacks' in result) return result;
    const { refusal } = result;
    // The refusal also discards what earlier gates would have counted or emitted.
    if (refusal) return { decision: { allowed: false, ...refusal }, results: [result] };
    results ??= [];
    results.push(result);
  }
  return { decision: permitted, results: results ?? NO_RESULTS };
}
