import type { Actor } from '../../access/actor.ts';
import type { Platform } from '../../platform.ts';
import type { McpAuth } from '../guard/guard-options.ts';
import type { Answer } from './peer.ts';

type Outcome = 'ok' | 'tool_error' | 'protocol_error' | 'timeout' | 'cancelled' | 'unavailable' | 'unknown';

interface FinishedCall {
  readonly auth: McpAuth;
  readonly auditId: string | undefined;
  readonly server: string;
  readonly tool: string;
  readonly begun: number;
  /** Hash of the tool's definition. */
  readonly definition: string | undefined;
  readonly answer?: Answer;
  /** Of a call without an answer. */
  readonly outcome?: Outcome;
}

export type RecordCall = (call: FinishedCall) => void;

/** Emits `gateway.call` after each call of a tool. The result itself is not stored. */
export const recorderOf =
  (platform: Platform): RecordCall =>
  ({ auth, auditId, server, tool, begun, definition, answer, outcome }) => {
    const durationMs = Math.round(performance.now() - begun);
    const resultBytes = answer && 'result' in answer ? Buffer.byteLength(JSON.stringify(answer.result)) : 0;
    platform.background.run('recording the outcome of a call', () =>
      platform.ledger.change(actorOf(auth), async (change) => {
        change.emit({
          type: 'gateway.call',
          agentId: auth.actorId ?? auth.agentId,
          userId: auth.userId,
          data: {
            auditId: auditId ?? null,
            server,
            tool,
            outcome: answer ? outcomeOf(answer) : (outcome ?? 'unknown'),
            durationMs,
            resultBytes,
            definition: definition ?? null,
          },
        });
      }),
    );
  };

function outcomeOf(answer: Answer): Outcome {
  if ('error' in answer) return 'protocol_error';
  return answer.result['isError'] === true ? 'tool_error' : 'ok';
}

const actorOf = ({ agentId, actorId, userId, clientId }: McpAuth): Actor =>
  clientId === '' ? { kind: 'agent', id: agentId } : { kind: 'accessToken', id: actorId ?? agentId, userId, clientId };
