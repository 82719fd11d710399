import type { Principal } from '../access/principal.ts';
import type { Platform } from '../platform.ts';

export interface AnsweredRequest {
  readonly requestId: string;
  readonly method: string;
  /** The pattern of the path. The URL itself may contain tokens and is not logged. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  readonly principal: Principal;
  readonly ip: string | null;
}

/**
 * Returns a function that logs each request, at info with `log.requests`, otherwise at debug. undefined: the level is
 * off.
 */
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
