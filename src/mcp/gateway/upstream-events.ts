import type { Message } from '../guard/json-rpc.ts';
import type { Tool } from './definitions.ts';

/** What happens on the connections to one server. `key` identifies the connection. */
export interface UpstreamEvents {
  /** A notification; `client` made the request that it belongs to, if that is known. */
  notified(key: string, method: string, params: Message, client: object | undefined): void;
  /** A connection was opened. */
  opened(key: string): void;
  /** A connection ended. */
  ended(key: string): void;
  /** No connection could be opened, or one broke, for another reason than the last time. */
  failed(problem: string): void;
  /** The tools of a server were listed. */
  listed(key: string, tools: readonly Tool[]): void | Promise<void>;
}
