import type { Reach } from '../lib/access.ts';
import { LegateError } from '../lib/error.ts';
import type { EventHub, Listener } from './hub.ts';
import { type View, viewOf } from './page.ts';

/** Bytes that wait for a reader before reading on stops. */
const BUFFER_BYTES = 65_536;
/** A reader that takes nothing for this long is let go; it comes back with the id of the last event it has. */
const STALLED_MS = 5000;
const RETRY_MS = 2000;

const encoder = new TextEncoder();

export interface Subscription {
  readonly hub: EventHub;
  /** Sequence behind which it begins. */
  readonly after: number;
  readonly types: ReadonlySet<string>;
  readonly reach: Reach;
  readonly heartbeatMs: number;
  /** When the credential ends by itself, in ms. */
  readonly expiresAt: number | null;
  readonly now: () => number;
  /** Proves the credential again and gives the reach as it is. Throws 401 or 403. */
  readonly prove: () => Promise<Reach>;
  /** An error event to begin with. */
  readonly notice?: { readonly code: string; readonly message: string } | undefined;
  readonly onClose: () => void;
  /** Breaks off the connection beneath, where that can be reached. */
  readonly breakOff: (() => void) | undefined;
}

/** Error event (specification 6.2.5). Without an id: it is no event of the ledger. */
export const errorEvent = (code: string, message: string): string => `event: error\ndata: ${JSON.stringify({ code, message })}\n\n`;

/**
 * One open stream: a cursor over the ledger that moves as fast as its reader takes. It ends with its credential, before
 * anything that happened later is shown.
 */
export class StreamConnection implements Listener {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #o: Subscription;
  #view: View;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #cursor: number;
  #pumping = false;
  #again = false;
  #doubts = 0;
  #closed = false;
  #blockedSince: number | undefined;
  readonly #heartbeat: NodeJS.Timeout;

  constructor(options: Subscription) {
    this.#o = options;
    this.#cursor = options.after;
    this.#view = viewOf(options.reach, options.types);
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#blockedSince = undefined;
          this.wake();
        },
        cancel: () => this.#end(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
    );
    const { notice } = options;
    this.#send(`retry: ${RETRY_MS}\n: connected\n\n${notice ? errorEvent(notice.code, notice.message) : ''}`);
    this.#heartbeat = setInterval(() => {
      if (this.#blockedSince === undefined) this.#send(': heartbeat\n\n');
    }, options.heartbeatMs).unref();
    options.hub.add(this);
    this.wake();
  }

  wake(): void {
    if (this.#pumping) this.#again = true;
    else void this.#pump();
  }

  tick(): void {
    if (this.#blockedSince !== undefined && performance.now() - this.#blockedSince >= STALLED_MS) this.#breakOff();
    else if (this.#o.expiresAt !== null && this.#o.now() >= this.#o.expiresAt) this.doubt();
  }

  /** Nothing is sent until the credential has proved itself again. */
  doubt(): void {
    if (this.#closed || this.#doubts++ > 0) return;
    void this.#proveAgain();
  }

  /** Ends the stream so that the client connects again. With an error, says why. */
  close(error?: { code: string; message: string }): void {
    if (this.#closed) return;
    if (error) this.#send(errorEvent(error.code, error.message));
    this.#end();
    try {
      this.#controller.close();
    } catch {
      // The reader is gone.
    }
  }

  /** What waits would never be taken: an orderly end behind it would keep the connection, and its bytes, for as long as the reader likes. */
  #breakOff(): void {
    if (this.#closed) return;
    this.#end();
    const { breakOff } = this.#o;
    if (breakOff) {
      breakOff();
      return;
    }
    const error = new Error('The reader of an event stream took nothing and was cut off');
    // Servers print what a body failed with: a line is enough.
    delete error.stack;
    this.#controller.error(error);
  }

  async #proveAgain(): Promise<void> {
    while (this.#doubts > 0 && !this.#closed) {
      const doubts = this.#doubts;
      try {
        this.#view = viewOf(await this.#o.prove(), this.#o.types);
      } catch (error) {
        // What could not be asked (the database is away) is not answered with yes.
        const code = error instanceof LegateError && error.status < 500 ? error.code : undefined;
        this.close(code === undefined ? undefined : { code, message: (error as LegateError).message });
        return;
      }
      this.#doubts -= doubts;
    }
    this.wake();
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    try {
      do {
        this.#again = false;
        while (!this.#closed && this.#doubts === 0) {
          if ((this.#controller.desiredSize ?? 0) <= 0) {
            this.#blockedSince ??= performance.now();
            break;
          }
          const piece = await this.#o.hub.piece(this.#cursor, this.#view);
          // While it was read, the credential may have come into doubt: then it is read again with what is seen afterwards.
          if (!piece || this.#closed || this.#doubts > 0) break;
          this.#cursor = piece.upto;
          if (piece.bytes) this.#controller.enqueue(piece.bytes);
        }
      } while (this.#again && !this.#closed);
    } catch {
      this.close();
    } finally {
      this.#pumping = false;
    }
  }

  #send(text: string): void {
    if (!this.#closed) this.#controller.enqueue(encoder.encode(text));
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#heartbeat);
    this.#o.hub.delete(this);
    this.#o.onClose();
  }
}
