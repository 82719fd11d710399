import { type SlotHolder, SlotShares } from '../../kernel/slots.ts';
import type { StreamConnection } from './connection.ts';

/** Up to this cap, one principal may hold all connections, because small caps are not divided. */
const LEAST_SHARE = 10;

const DISPLACED = {
  code: 'TOO_MANY_CONNECTIONS',
  message: 'All connections are in use, and this caller has more than its share. Close streams that are not needed.',
} as const;

/** One of the connections that `events.maxConnections` allows. */
export interface StreamSlot {
  /** undefined for an administrator or a caller that is not known yet. Such a slot is never taken away. */
  holder: SlotHolder | undefined;
  connection: StreamConnection | undefined;
}

/**
 * The connections of one service. Every caller gets a free connection while there is one. When all are in use, a caller
 * within its share (half of them for a principal, three quarters for an owner, at least 10) takes a connection from a
 * caller above its share.
 */
export class StreamSlots {
  readonly #max: number;
  readonly #shares: SlotShares;
  readonly #slots = new Set<StreamSlot>();
  closed = false;

  constructor(max: number) {
    this.#max = max;
    this.#shares = new SlotShares(
      Math.max(LEAST_SHARE, Math.floor(max / 2)),
      Math.max(LEAST_SHARE, Math.floor((max * 3) / 4)),
    );
  }

  /** Connections that are open or being opened. */
  get size(): number {
    return this.#slots.size;
  }

  /** Returns whether a full service could still accept some callers. */
  get mayDisplace(): boolean {
    return this.#shares.exceeded;
  }

  /** Takes a free connection before the caller is known. Returns undefined if there is none. */
  reserve(): StreamSlot | undefined {
    if (this.closed || this.#slots.size >= this.#max) return undefined;
    const slot: StreamSlot = { holder: undefined, connection: undefined };
    this.#slots.add(slot);
    return slot;
  }

  /** Takes a connection, if need be from a caller above its share. Returns undefined if there is none. */
  claim(holder: SlotHolder | undefined): StreamSlot | undefined {
    if (this.#slots.size >= this.#max && (!holder || this.#shares.hasRoomFor(holder))) this.#displace();
    const slot = this.reserve();
    if (slot) this.assign(slot, holder);
    return slot;
  }

  /** Counts a reserved connection for its caller. */
  assign(slot: StreamSlot, holder: SlotHolder | undefined): void {
    slot.holder = holder;
    if (holder) this.#shares.add(holder);
  }

  release(slot: StreamSlot): void {
    if (this.#slots.delete(slot) && slot.holder) this.#shares.delete(slot.holder);
  }

  /** Notifies every stream that this process is about to stop. */
  drain(): void {
    for (const { connection } of this.#slots) connection?.drain();
  }

  /** Ends every stream, so that clients connect again elsewhere, and refuses new ones. */
  close(): void {
    this.closed = true;
    for (const { connection } of [...this.#slots]) connection?.close();
  }

  /** Ends the newest stream of a caller above its share. */
  #displace(): void {
    let newest: StreamConnection | undefined;
    for (const { holder, connection } of this.#slots)
      if (holder && connection && this.#shares.isExceededBy(holder)) newest = connection;
    newest?.displace(DISPLACED);
  }
}
