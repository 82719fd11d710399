import { ServerResponse } from 'node:http';
import type { Visibility } from '../../access/principal.ts';
import { offerDirect } from '../../http/node-body.ts';
import { LegateError } from '../../kernel/errors.ts';
import type { EventHub, Following, Listener } from './hub.ts';
import { viewOf } from './piece.ts';

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
  readonly visibility: Visibility;
  readonly heartbeatMs: number;
  /** When the credential ends by itself, in ms. */
  readonly expiresAt: number | null;
  readonly now: () => number;
  /** Proves the credential again and gives the reach as it is. Throws 401 or 403. */
  readonly prove: () => Promise<Visibility>;
  /** An error event to begin with. */
  readonly notice?: { readonly code: string; readonly message: string } | undefined;
  readonly onClose: () => void;
}

/** Where the bytes of a stream go. */
interface Outlet {
  /** Bytes that the reader has not taken. */
  readonly waiting: () => number;
  /** Whether all of it is out by now: bytes that are not have to be left as they are. */
  readonly write: (bytes: Uint8Array | string) => boolean;
  readonly end: () => void;
  readonly breakOff: () => void;
}

/** Error event (specification 6.2.5). Without an id: it is no event of the ledger. */
export const errorEvent = (code: string, message: string): string =>
  `event: error\ndata: ${JSON.stringify({ code, message })}\n\n`;

/**
 * One open stream: a cursor over the ledger that moves as fast as its reader takes. It ends with its credential, before
 * anything that happened later is shown. It begins when its body is first read, or written to node:http.
 */
export class StreamConnection implements Listener {
  readonly body: ReadableStream<Uint8Array>;
  readonly #o: Subscription;
  readonly #openedAt = performance.now();
  #following: Following;
  #outlet: Outlet | undefined;
  /** What it begins with. */
  #unsent: string;
  #cursor: number;
  #pumping = false;
  #again = false;
  #doubts = 0;
  #closed = false;
  #blockedSince: number | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(options: Subscription) {
    this.#o = options;
    this.#cursor = options.after;
    this.#following = options.hub.follow(viewOf(options.visibility, options.types));
    const { notice } = options;
    this.#unsent = `retry: ${RETRY_MS}\n: connected\n\n${notice ? errorEvent(notice.code, notice.message) : ''}`;
    this.body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          if (this.#outlet) this.#resume();
          else this.#begin(readOutlet(controller));
        },
        cancel: () => this.#end(),
      },
      // Nothing is asked for before somebody reads.
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
    offerDirect(this.body, (res) => {
      res.on('drain', () => this.#resume());
      res.on('close', () => this.#end());
      res.on('error', () => this.#end());
      if (res.destroyed) this.#end();
      else this.#begin(nodeOutlet(res));
    });
    options.hub.add(this);
  }

  wake(): void {
    if (this.#pumping) this.#again = true;
    else void this.#pump();
  }

  tick(): void {
    if (!this.#outlet && performance.now() - this.#openedAt >= STALLED_MS) this.#end();
    else if (this.#blockedSince !== undefined && performance.now() - this.#blockedSince >= STALLED_MS) this.#breakOff();
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
    this.#outlet?.end();
  }

  /** Ends the stream in favour of another caller. */
  displace(error: { code: string; message: string }): void {
    if (this.#blockedSince === undefined && this.#outlet) this.close(error);
    else this.#breakOff();
  }

  /** What waits would never be taken: an orderly end behind it would keep the connection, and its bytes, for as long as the reader likes. */
  #breakOff(): void {
    if (this.#closed) return;
    this.#end();
    this.#outlet?.breakOff();
  }

  #begin(outlet: Outlet): void {
    this.#outlet = outlet;
    outlet.write(this.#unsent);
    this.#unsent = '';
    if (this.#closed) {
      outlet.end();
      return;
    }
    this.#heartbeat = setInterval(() => {
      if (this.#blockedSince === undefined) this.#send(': heartbeat\n\n');
    }, this.#o.heartbeatMs).unref();
    this.wake();
  }

  #resume(): void {
    this.#blockedSince = undefined;
    this.wake();
  }

  async #proveAgain(): Promise<void> {
    while (this.#doubts > 0 && !this.#closed) {
      const doubts = this.#doubts;
      try {
        this.#show(await this.#o.prove());
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

  #show(visibility: Visibility): void {
    const view = viewOf(visibility, this.#o.types);
    if (this.#closed || view.key === this.#following.view.key) return;
    const before = this.#following;
    this.#following = this.#o.hub.follow(view);
    this.#o.hub.unfollow(before);
  }

  async #pump(): Promise<void> {
    const outlet = this.#outlet;
    if (!outlet) return;
    this.#pumping = true;
    try {
      do {
        this.#again = false;
        while (!this.#closed && this.#doubts === 0) {
          if (outlet.waiting() >= BUFFER_BYTES) {
            this.#blockedSince ??= performance.now();
            break;
          }
          const made = this.#o.hub.piece(this.#cursor, this.#following);
          const piece = made instanceof Promise ? await made : made;
          // While it was read, the credential may have come into doubt: then it is read again with what is seen afterwards.
          if (!piece || this.#closed || this.#doubts > 0) break;
          this.#cursor = piece.upto;
          if (piece.bytes && !outlet.write(piece.bytes)) this.#o.hub.keep();
        }
      } while (this.#again && !this.#closed);
    } catch {
      this.close();
    } finally {
      this.#pumping = false;
    }
  }

  #send(text: string): void {
    if (this.#closed) return;
    if (this.#outlet) this.#outlet.write(text);
    else this.#unsent += text;
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#heartbeat);
    this.#o.hub.delete(this);
    this.#o.hub.unfollow(this.#following);
    this.#o.onClose();
  }
}

/** To whoever reads the body. */
function readOutlet(controller: ReadableStreamDefaultController<Uint8Array>): Outlet {
  return {
    waiting: () => -(controller.desiredSize ?? 0),
    write: (bytes) => {
      controller.enqueue(typeof bytes === 'string' ? encoder.encode(bytes) : Uint8Array.from(bytes));
      return true;
    },
    end: () => {
      try {
        controller.close();
      } catch {
        // The reader is gone.
      }
    },
    breakOff: () => {
      const error = new Error('The reader of an event stream took nothing and was cut off');
      // Servers print what a body failed with: a line is enough.
      delete error.stack;
      controller.error(error);
    },
  };
}

/** To a connection of node:http. */
function nodeOutlet(res: ServerResponse): Outlet {
  // What somebody put in between may hold on to the bytes.
  const plain = res.write === ServerResponse.prototype.write;
  return {
    waiting: () => res.writableLength,
    write: (bytes) => {
      const { socket } = res;
      const own = !plain || res.writableLength > 0;
      socket?.cork();
      res.write(own && typeof bytes !== 'string' ? Buffer.from(bytes) : bytes);
      socket?.uncork();
      return own || res.writableLength === 0;
    },
    end: () => void res.end(),
    breakOff: () => void res.destroy(),
  };
}
