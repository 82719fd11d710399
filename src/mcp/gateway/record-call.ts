import { setTimeout as sleep } from 'node:timers/promises';
import { type Actor, SYSTEM } from '../../access/actor.ts';
import type { NewEvent } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { McpAuth } from '../guard/guard-options.ts';
import { callMetrics } from './call-metrics.ts';
import type { Answer } from './peer.ts';

const GATHER_MS = 10;
const MAX_TOGETHER = 100;
const MAX_WAITING = 10_000;

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
  /** Of a call without an answer. */
  readonly outcome?: Outcome;
}

export type RecordCall = (call: FinishedCall) => void;

interface WaitingEvent {
  readonly actor: Actor;
  readonly event: NewEvent;
}

/**
 * Emits `gateway.call` after each call of a tool. The result itself is not stored. Calls that end within a few
 * milliseconds share one commit, so that recording outcomes does not delay the decisions on the next calls.
 */
export function recorderOf(platform: Platform): RecordCall {
  const waiting: WaitingEvent[] = [];
  let isWriting = false;
  const write = async (): Promise<void> => {
    try {
      await sleep(GATHER_MS);
      while (waiting.length > 0) {
        const some = waiting.splice(0, MAX_TOGETHER);
        await platform.ledger.change(SYSTEM, async (change) => {
          for (const { actor, event } of some) {
            change.actAs(actor);
            change.emit(event);
          }
        });
      }
    } finally {
      isWriting = false;
    }
  };
  return ({ auth, auditId, server, tool, begun, definition, answer, outcome: failure }) => {
    const duration = performance.now() - begun;
    const outcome = answer ? outcomeOf(answer) : (failure ?? 'unknown');
    platform.stateOf(callMetrics).observe(server, outcome, duration);
    if (waiting.length >= MAX_WAITING) {
      platform.log.warn({ auditId, server, tool, outcome }, 'the outcome of a call is not recorded: too many wait');
      return;
    }
    const durationMs = Math.round(duration);
    const resultBytes = answer && 'result' in answer ? Buffer.byteLength(JSON.stringify(answer.result)) : 0;
    const data = {
      ...{ auditId: auditId ?? null, server, tool, outcome },
      ...{ durationMs, resultBytes, definition: definition ?? null },
    };
    const event = { type: 'gateway.call', agentId: auth.actorId ?? auth.agentId, userId: auth.userId, data } as const;
    waiting.push({ actor: actorOf(auth), event });
    if (isWriting) return;
    isWriting = true;
    platform.background.run('recording the outcomes of calls', write);
  };
}

function outcomeOf(answer: Answer): Outcome {
  if ('error' in answer) return 'protocol_error';
  return answer.result['isError'] === true ? 'tool_error' : 'ok';
}

const actorOf = ({ agentId, actorId, userId, clientId }: McpAuth): Actor =>
  clientId === '' ? { kind: 'agent', id: agentId } : { kind: 'accessToken', id: actorId ?? agentId, userId, clientId };
