import type { ActedEvent } from './entry.ts';

/** Events wait so long for a batch of decisions to join. */
const WAIT_MS = 10;
const MAX_WAITING = 10_000;

/** Events that become durable together. */
export interface NotedEvents {
  readonly events: readonly ActedEvent[];
  readonly written: () => void;
  readonly failed: (error: unknown) => void;
}

interface Group extends NotedEvents {
  readonly events: ActedEvent[];
  readonly durable: Promise<void>;
  readonly timer: NodeJS.Timeout;
}

/**
 * Events that report what has happened. They join the next batch of decisions, so that calls that follow each other
 * quickly need no second commit, or get a commit of their own if none comes soon.
 */
export class EventNotes {
  readonly #write: (events: readonly ActedEvent[]) => Promise<void>;
  #waiting: Group | undefined;

  constructor(write: (events: readonly ActedEvent[]) => Promise<void>) {
    this.#write = write;
  }

  /** Returns a promise of the events that become durable together, or undefined if too many wait. */
  add(event: ActedEvent): Promise<void> | undefined {
    const group = (this.#waiting ??= this.#begin());
    if (group.events.length >= MAX_WAITING) return undefined;
    group.events.push(event);
    return group.durable;
  }

  /** Returns what waits, for a commit that is about to be made. */
  take(): NotedEvents | undefined {
    const group = this.#waiting;
    if (!group) return undefined;
    clearTimeout(group.timer);
    this.#waiting = undefined;
    return group;
  }

  /** Writes events in a commit of their own: those given, or what waits. */
  async writeApart(group = this.take()): Promise<void> {
    if (group) await this.#write(group.events).then(group.written, group.failed);
  }

  #begin(): Group {
    let written = (): void => {};
    let failed = (_error: unknown): void => {};
    const durable = new Promise<void>((resolve, reject) => {
      written = resolve;
      failed = reject;
    });
    durable.catch(() => {});
    const timer = setTimeout(() => void this.writeApart(), WAIT_MS);
    return { events: [], durable, written, failed, timer };
  }
}
