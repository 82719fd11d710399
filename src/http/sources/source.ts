import type { Authenticator, Proof } from '../authenticate.ts';
import type { Rendered } from '../render-error.ts';

/**
 * A request as the pipeline reads it, with a function to answer it. Implemented for the web `Request` and for
 * node:http's `IncomingMessage`, so that the pipeline serves both.
 */
export interface Source<Sent> {
  /** performance.now() at arrival. */
  readonly startedAt: number;
  readonly method: string;
  /** Address of the peer, if known. */
  readonly remoteAddress: string | null;
  readonly pathname: string;
  /** The query as it was sent, without the question mark. */
  readonly query: string;
  readonly url: URL;
  readonly request: Request;
  /** False: the request declares no body. */
  readonly hasBody: boolean;
  header(name: string): string | null;
  /**
   * Authenticates the request. `remembered`: a cached credential is enough, because it will be checked again before it
   * is used.
   */
  prove(authenticator: Authenticator, remembered: boolean): Proof | Promise<Proof>;
  /** Throws 413 for a body of more than `limit` bytes. */
  body(limit: number): Uint8Array | Promise<Uint8Array>;
  /** Calls `listener` if the client disconnects before its answer is complete. */
  onAbort(listener: () => void): void;
  /** @param requestId sent as `X-Request-ID` */
  send(answer: Rendered | Response, requestId: string): Sent;
}
