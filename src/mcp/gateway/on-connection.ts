import type { Answer } from './peer.ts';

/** Keeps a connection open, even if it is idle. */
export interface Hold {
  /** Whether the connection has not ended. */
  readonly isOpen: boolean;
  release(): void;
}

/** What is done on the connection of a request. */
export interface OnConnection {
  /** Throws if the definitions that the connection has listed do not permit the request. */
  readonly check?: () => void;
  /** Receives the answer before the connection may be ended. `hold` throws OutcomeUnknown if it has ended. */
  readonly answered?: (answer: Answer, hold: () => Hold) => void;
}

/** Returns the person whose connection a key stands for; empty for a shared one. */
export const personOf = (key: string): string => key.split(' ')[0] as string;
