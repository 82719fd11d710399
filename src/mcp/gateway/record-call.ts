import { Tracing } from '../../http/tracing.ts';
import { asId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { McpAuth } from '../guard/guard-options.ts';
import { callMetrics } from './call-metrics.ts';
import type { Answer } from './peer.ts';
import { resultText } from './result-text.ts';

type Outcome = 'ok' | 'tool_error' | 'protocol_error' | 'timeout' | 'cancelled' | 'unavailable' | 'unknown';

export interface FinishedCall {
  readonly auth: McpAuth;
  readonly auditId: string | undefined;
  readonly server: string;
  readonly tool: string;
  readonly begun: number;
  /** Hash of the tool's definition. */
  readonly definition: string | undefined;
  readonly answer?: Answer;
  /** Error of a call without an answer. */
  readonly outcome?: Outcome;
}

export type RecordCall = (call: FinishedCall) => void;

/**
 * Emits `gateway.call` after each call of a tool, and adds its span to the trace, following OpenTelemetry's semantic
 * conventions for MCP. The result itself is not stored. Outcomes are written in the commits of the decisions about
 * later calls.
 */
export function recorderOf(
  platform: Pick<Platform, 'background' | 'holderOf' | 'ledger' | 'log' | 'stateOf'>,
): RecordCall {
  const metrics = platform.stateOf(callMetrics);
  const tracing = Tracing.find();
  let recording: Promise<void> | undefined;
  return ({ auth, auditId, server, tool, begun, definition, answer, outcome: failure }) => {
    const duration = performance.now() - begun;
    const outcome = answer ? outcomeOf(answer) : (failure ?? 'unknown');
    metrics.observe(server, outcome, duration);
    tracing?.called(
      `tools/call ${tool}`,
      {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': tool,
        'legate.gateway.server': server,
        ...(auditId !== undefined && { 'legate.audit_id': auditId }),
      },
      begun,
      outcome === 'ok' ? undefined : outcome,
    );
    const durationMs = Math.round(duration);
    const resultBytes = answer && 'result' in answer ? Buffer.byteLength(resultText(answer.result)) : 0;
    const agentId = asId('agent', auth.actorId ?? auth.agentId);
    const durable = platform.ledger.note({
      type: 'gateway.call',
      agentId,
      userId: asId('user', auth.userId),
      data: {
        auditId: auditId ?? null,
        server,
        tool,
        outcome,
        durationMs,
        resultBytes,
        definition: definition ?? null,
      },
      actor: platform.holderOf(auth.token, agentId) ?? { kind: 'agent', id: agentId },
    });
    if (!durable)
      platform.log.warn(
        { auditId, server, tool, outcome },
        'the outcome of a call is not recorded: too many outcomes are waiting',
      );
    if (!durable || durable === recording) return;
    recording = durable;
    platform.background.run('recording the outcomes of calls', () => durable);
  };
}

function outcomeOf(answer: Answer): Outcome {
  if ('error' in answer) return 'protocol_error';
  return answer.result['isError'] === true ? 'tool_error' : 'ok';
}
