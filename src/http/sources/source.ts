import type { Authenticator, Proof } from '../../access/authenticate.ts';
import type { Rendered } from '../render-error.ts';

/**
 * A request as the pipeline reads it, and the way its answer takes. The web `Request` and node:http's `IncomingMessage`
 * each have one, so that what follows is written once for both.
 */
export interface Source<Sent> {
  /** performance.now() at arrival. */
  readonly startedAt: number;
  readonly method: string;
  /** Address of the peer, where it is known. */
  readonly remoteAddress: string | null;
  /** The query as it was sent, without the question mark. */
  readonly query: string;
  readonly url: URL;
  readonly request: Request;
  /** False: the request states that it has no body. */
  readonly hasBody: boolean;
  header(name: string): string | null;
  /**
   * Proves the credential of the request. `remembered`: what is in memory is enough, since it will be proved again before
   * anything is done on it.
   */
  prove(authenticator: Authenticator, remembered: boolean): Proof | Promise<Proof>;
  /** Throws 413 for a body of more than `limit` bytes. */
  body(limit: number): Uint8Array | Promise<Uint8Array>;
  /** @param requestId goes out as `X-Request-ID` */
  send(answer: Rendered | Response, requestId: string): Sent;
}
