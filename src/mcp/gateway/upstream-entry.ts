import type { ServerInfo } from './list-tools.ts';
import type { Peer } from './peer.ts';
import type { UpstreamListening } from './upstream-listening.ts';

/** A connection on which requests can be sent. */
export interface Connected {
  readonly peer: Peer;
  readonly info: ServerInfo;
  /** Input schemas of tools, which state the arguments that are repeated in headers. Only for 2026-07-28. */
  schemas: ReadonlyMap<string, unknown>;
  /** Only for 2026-07-28. */
  readonly listening: UpstreamListening | undefined;
}

/** A connection, from its opening on. */
export interface Entry {
  readonly peer: Peer;
  readonly ready: Promise<Connected>;
  /** The value of `ready`, once it has resolved. */
  connected: Connected | undefined;
  readonly openedAt: number;
  /** Notifications of changed tools that are not handled yet. */
  changes: number;
  /** Requests in progress. */
  running: number;
  usedAt: number;
}

export const byUse = ([, a]: [string, Entry], [, b]: [string, Entry]): number => a.usedAt - b.usedAt;
