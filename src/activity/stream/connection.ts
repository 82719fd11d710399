import { ServerResponse } from 'node:http';
import type { Visibility } from '../../access/principal.ts';
import { offerDirect } from '../../http/node-body.ts';
import { LegateError } from '../../kernel/errors.ts';
import type { Condition } from '../../ledger/index.ts';
import { type FrameChunk, noCounts, type SelectedChunk, type View, viewOf } from './frame-chunk.ts';
import type { EventHub, HubSubscription, Listener } from './hub.ts';

/** While more bytes than this wait for the reader, no further events are read. */
const BUFFER_BYTES = 65_536;
/** A reader that reads nothing for this long is disconnected. It can resume with the id of its last event. */
const STALLED_MS = 5000;
const RETRY_MS = 2000;

const encoder = new TextEncoder();

/** What a credential lets a stream show, and when it expires. */
export interface Allowed {
  readonly visibility: Visibility;
  readonly expiresAt: number | null;
}

export interface StreamOptions {
  readonly hub: EventHub;
  /** The stream begins after this sequence. */
  readonly after: number;
  readonly types: ReadonlySet<string>;
  readonly visibility: Visibility;
  readonly heartbeatMs: number;
  /** When the credential expires, in ms since 1970. */
  readonly expiresAt: number | null;
  readonly now: () => number;
  /** Checks the credential again and returns what it allows now. Throws 401 or 403. */
  readonly reauthorize: () => Promise<Allowed>;
  /** Sent first, as an error event. */
  readonly notice?: { readonly code: string; readonly message: string } | undefined;
  readonly onClose: () => void;
  /** The selection of a stream with filters, a limit or counts. */
  readonly selected?: SelectedStream | undefined;
}

export interface SelectedStream {
  /** Maximum number of events in a second; further ones are left out. */
  readonly maxPerSecond: number;
  /** Sends the number of decisions once a second. */
  readonly ticks: boolean;
  /** The current filters. */
  readonly conditions: () => Promise<readonly Condition[]>;
  readonly first: readonly Condition[];
  /** Whether the filters depend on the members of a tenant, which are looked up again once a second. */
  readonly changing: boolean;
}

/** The reader's side of a stream. */
interface Outlet {
  /** Returns the number of bytes that the reader has not read. */
  readonly waiting: () => number;
  /** Returns whether all bytes are written out. If not, the caller must not reuse their memory. */
  readonly write: (bytes: Uint8Array | string) => boolean;
  readonly end: () => void;
  readonly abort: () => void;
}

/** Error event (specification 6.2.5). It has no id, because it is not in the ledger. */
export const errorEvent = (code: string, message: string): string =>
  `event: error\ndata: ${JSON.stringify({ code, message })}\n\n`;

/**
 * One open stream: a cursor over the ledger that advances as fast as its reader reads. When its credential ends, the
 * stream ends before any later event is sent. It starts when its body is first read, or written to node:http.
 */
export class StreamConnection implements Listener {
  readonly body: ReadableStream<Uint8Array>;
  readonly #o: StreamOptions;
  readonly #openedAt = performance.now();
  #subscription: HubSubscription;
  #outlet: Outlet | undefined;
  /** Text to send once there is a reader. */
  #unsent: string;
  #cursor: number;
  #expiresAt: number | null;
  #pumping = false;
  #wokenMeanwhile = false;
  #revalidations = 0;
  #closed = false;
  #blockedSince: number | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  /** Conditions of a stream with a selection. */
  #where: readonly Condition[] | undefined;
  /** Since the last tick: events sent, events left out, and decisions. */
  #sent = 0;
  #skipped = 0;
  #counts = noCounts();

  constructor(options: StreamOptions) {
    this.#o = options;
    this.#cursor = options.after;
    this.#expiresAt = options.expiresAt;
    const { selected } = options;
    this.#where = selected?.first;
    this.#subscription = options.hub.subscribe(this.#viewOf(options.visibility));
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
      // `pull` is not called before the first read.
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
    if (this.#pumping) this.#wokenMeanwhile = true;
    else void this.#pump();
  }

  tick(): void {
    if (!this.#outlet && performance.now() - this.#openedAt >= STALLED_MS) this.#end();
    else if (this.#blockedSince !== undefined && performance.now() - this.#blockedSince >= STALLED_MS) this.#abort();
    else if (this.#hasExpired()) this.revalidate();
    const { selected } = this.#o;
    if (!selected || this.#closed) return;
    this.#reportSecond(selected);
    if (selected.changing) this.revalidate();
  }

  /** Reports the counts since the last tick. If the reader has not caught up, the next tick reports them. */
  #reportSecond({ ticks }: SelectedStream): void {
    this.#sent = 0;
    if (this.#blockedSince !== undefined || !this.#outlet) return;
    if (this.#skipped > 0) this.#send(`event: skipped\ndata: ${JSON.stringify({ count: this.#skipped })}\n\n`);
    if (ticks) this.#send(`event: tick\ndata: ${JSON.stringify(this.#counts)}\n\n`);
    this.#skipped = 0;
    this.#counts = noCounts();
  }

  /** Checks the credential again, and sends nothing until that has succeeded. */
  revalidate(): void {
    if (this.#closed || this.#revalidations++ > 0) return;
    void this.#reauthorize();
  }

  #hasExpired(): boolean {
    return this.#expiresAt !== null && this.#o.now() >= this.#expiresAt;
  }

  /** Ends the stream so that the client connects again. An error is sent first. */
  close(error?: { code: string; message: string }): void {
    if (this.#closed) return;
    if (error) this.#send(errorEvent(error.code, error.message));
    this.#end();
    this.#outlet?.end();
  }

  /** Notifies the reader that this process is about to stop, unless unread bytes are waiting. */
  drain(): void {
    if (this.#blockedSince === undefined) this.#send('event: draining\ndata: {}\n\n');
  }

  /** Ends the stream: the database has lost events that it may have sent. */
  lose(): void {
    this.close({
      code: 'REPLAY_GAP',
      message: 'The database has lost events that were sent: resume with the id of the last event.',
    });
  }

  /** Ends the stream in favour of another caller. */
  displace(error: { code: string; message: string }): void {
    if (this.#blockedSince === undefined && this.#outlet) this.close(error);
    else this.#abort();
  }

  /**
   * Ends without waiting for the reader, because an orderly end would keep the connection and its bytes until they are
   * read.
   */
  #abort(): void {
    if (this.#closed) return;
    this.#end();
    this.#outlet?.abort();
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

  async #reauthorize(): Promise<void> {
    while (this.#revalidations > 0 && !this.#closed) {
      const revalidations = this.#revalidations;
      try {
        const { visibility, expiresAt } = await this.#o.reauthorize();
        this.#expiresAt = expiresAt;
        if (this.#o.selected) this.#where = await this.#o.selected.conditions();
        this.#applyVisibility(visibility);
      } catch (error) {
        // If the check itself fails, for instance without the database, the stream ends too.
        const code = error instanceof LegateError && error.status < 500 ? error.code : undefined;
        this.close(code === undefined ? undefined : { code, message: (error as LegateError).message });
        return;
      }
      this.#revalidations -= revalidations;
    }
    this.wake();
  }

  #applyVisibility(visibility: Visibility): void {
    const view = this.#viewOf(visibility);
    if (this.#closed || view.key === this.#subscription.view.key) return;
    const before = this.#subscription;
    this.#subscription = this.#o.hub.subscribe(view);
    this.#o.hub.unsubscribe(before);
  }

  #viewOf(visibility: Visibility): View {
    return viewOf(visibility, this.#o.types, this.#where && { where: this.#where });
  }

  /** Reads the next events. */
  #next(): FrameChunk | undefined | Promise<FrameChunk | undefined> {
    const { hub, selected } = this.#o;
    if (!selected) return hub.chunk(this.#cursor, this.#subscription);
    return hub.selectedChunk(this.#cursor, this.#subscription, selected.maxPerSecond - this.#sent);
  }

  async #pump(): Promise<void> {
    const outlet = this.#outlet;
    if (!outlet) return;
    this.#pumping = true;
    try {
      do {
        this.#wokenMeanwhile = false;
        while (!this.#closed && this.#revalidations === 0) {
          if (outlet.waiting() >= BUFFER_BYTES) {
            this.#blockedSince ??= performance.now();
            break;
          }
          const result = this.#next();
          const chunk = result instanceof Promise ? await result : result;
          if (this.#hasExpired()) this.revalidate();
          // A revalidation that began during the read may change the visibility, so the chunk is read again after it.
          if (!chunk || this.#closed || this.#revalidations > 0) break;
          this.#cursor = chunk.lastSeq;
          if (this.#o.selected) this.#note(chunk as SelectedChunk);
          if (chunk.bytes && !outlet.write(chunk.bytes)) this.#o.hub.retain();
        }
      } while (this.#wokenMeanwhile && !this.#closed);
    } catch {
      this.close();
    } finally {
      this.#pumping = false;
    }
  }

  #note({ frames, skipped, counts }: SelectedChunk): void {
    this.#sent += frames;
    this.#skipped += skipped;
    this.#counts.allowed += counts.allowed;
    this.#counts.denied += counts.denied;
    this.#counts.rate_limited += counts.rate_limited;
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
    this.#o.hub.unsubscribe(this.#subscription);
    this.#o.onClose();
  }
}

/** Writes to the reader of the body. */
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
        // The reader has left.
      }
    },
    abort: () => {
      const error = new Error('The reader of an event stream read nothing and was disconnected');
      // Servers print the error of a body; one line is enough.
      delete error.stack;
      controller.error(error);
    },
  };
}

/** Writes to a connection of node:http. */
function nodeOutlet(res: ServerResponse): Outlet {
  // A wrapped `write` may keep a reference to the bytes, so they are copied for it.
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
    abort: () => void res.destroy(),
  };
}
