import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Platform } from '../platform.ts';

const LOOK_MS = 500;
const DEFAULTS = { most: 268_435_456, enough: 134_217_728 };
/** Smaller bodies are not counted: 10,000 of them take up 80 MB. */
const SMALL = 8192;
/** Bodies of which less has arrived are closed last, because that frees little. */
const LARGE = 65_536;

interface Arriving {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Bytes that had arrived on the connection when the body began. */
  readonly before: number;
}

/**
 * Bounds the memory that bodies take up until all of each has arrived. Beyond 256 MB together, the connections of those
 * that began first are closed until 128 MB are left, those with little of it last. Clients that send slowly, on many
 * connections and from many addresses, could otherwise use up the memory of the service without a credential.
 */
export class UnfinishedBodies {
  readonly #platform: Pick<Platform, 'log'>;
  readonly #limits: typeof DEFAULTS;
  /** In the order in which they began. Those that have arrived leave with the next look. */
  #arriving: Arriving[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param limits in bytes */
  constructor(platform: Pick<Platform, 'log'>, limits = DEFAULTS) {
    this.#platform = platform;
    this.#limits = limits;
  }

  /** Counts the body of a request, if it has a large one. */
  begin(req: IncomingMessage, res: ServerResponse): void {
    const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
    if (encoding === undefined && !(Number(length) > SMALL)) return;
    this.#arriving.push({ req, res, before: req.socket.bytesRead });
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  #look(): void {
    this.#arriving = this.#arriving.filter(isArriving);
    if (this.#arriving.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    let left = 0;
    for (const each of this.#arriving) left += bytesOf(each);
    if (left <= this.#limits.most) return;
    let closed = 0;
    const isLarge = (each: Arriving): boolean => bytesOf(each) >= LARGE;
    const small = this.#arriving.filter((each) => !isLarge(each));
    for (const each of [...this.#arriving.filter(isLarge), ...small]) {
      if (left <= this.#limits.enough) break;
      left -= bytesOf(each);
      each.req.socket.destroy();
      closed++;
    }
    const what = 'Connections were closed because their clients send large bodies too slowly';
    this.#platform.log.warn({ closed }, what);
  }
}

/** What arrives after the answer has ended is discarded. */
const isArriving = ({ req, res }: Arriving): boolean => !req.complete && !res.writableEnded && !req.socket.destroyed;

const bytesOf = ({ req, before }: Arriving): number => req.socket.bytesRead - before;
