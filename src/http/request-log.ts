import type { Principal } from '../access/principal.ts';
import type { Platform } from '../platform.ts';

export interface AnsweredRequest {
  readonly requestId: string;
  readonly method: string;
  /** The pattern of the path. The address itself may hold tokens and stays out of the log. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  readonly principal: Principal;
  readonly ip: string | null;
}

/** Writes a line for each request, at info where `log.requests` is on and at debug otherwise. Undefined: nobody would read it. */
export function requestLog({ config, log }: Pick<Platform, 'config' | 'log'>) {
  const level = config.log.requests ? 'info' : 'debug';
  if (log.isLevelEnabled?.(level) === false) return undefined;
  return ({ ms, principal, ...rest }: AnsweredRequest): void => {
    log[level]({ ...rest, ms: Math.round(ms * 1000) / 1000, principal: identityOf(principal) }, 'request');
  };
}

const identityOf = (principal: Principal): { kind: Principal['kind']; id?: string } => {
  if (principal.kind === 'anonymous') return { kind: 'anonymous' };
  return { kind: principal.kind, id: principal.kind === 'user' ? principal.userId : principal.agentId };
};
