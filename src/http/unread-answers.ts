import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Platform } from '../platform.ts';

const LOOK_MS = 500;
const DEFAULTS = { most: 134_217_728, enough: 67_108_864 };

/**
 * Bounds the memory that answers take up until their clients read them. Beyond 128 MB together, the connections with
 * most are closed until 64 MB are left, of equal ones the oldest first. One person could otherwise request long answers
 * on many connections, read none of them, and use up the memory of the service.
 */
export class UnreadAnswers {
  readonly #platform: Pick<Platform, 'log'>;
  readonly #limits: typeof DEFAULTS;
  /** The latest answer on each open connection. */
  readonly #latest = new Map<Socket, ServerResponse>();
  #timer: NodeJS.Timeout | undefined;

  /** @param limits in bytes */
  constructor(platform: Pick<Platform, 'log'>, limits = DEFAULTS) {
    this.#platform = platform;
    this.#limits = limits;
  }

  /** Counts an answer that begins. Returns the one before it on the connection, if any. */
  begin(socket: Socket, res: ServerResponse): ServerResponse | undefined {
    const before = this.#latest.get(socket);
    this.#latest.set(socket, res);
    if (!before) {
      socket.once('close', () => this.#latest.delete(socket));
      this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    }
    return before;
  }

  #look(): void {
    if (this.#latest.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    let left = 0;
    for (const [socket, res] of this.#latest) left += unread(socket, res);
    if (left <= this.#limits.most) return;
    const found = [...this.#latest].map(([socket, res]) => ({ socket, bytes: unread(socket, res) }));
    let closed = 0;
    for (const { socket, bytes } of found.sort((a, b) => b.bytes - a.bytes)) {
      if (left <= this.#limits.enough) break;
      left -= bytes;
      socket.destroy();
      closed++;
    }
    const what = 'Connections were closed because their clients do not read their answers';
    this.#platform.log.warn({ closed }, what);
  }
}

const unread = (socket: Socket, res: ServerResponse): number => (res.writableFinished ? 0 : socket.writableLength);
