import type { ActedEvent } from './entry.ts';

/** Time that events wait for a batch of decisions. */
const WAIT_MS = 10;
/** Maximum number of events that become durable together. */
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
 * Events that report an occurrence. They join the next batch of decisions, so that calls in quick succession need no
 * second commit. If there is no batch soon, they get their own commit.
 */
export class EventNotes {
  readonly #write: (events: readonly ActedEvent[]) => Promise<void>;
  #waiting: Group | undefined;

  constructor(write: (events: readonly ActedEvent[]) => Promise<void>) {
    this.#write = write;
  }

  /** Returns a promise that all events of the same commit share, or undefined if too many wait. */
  add(event: ActedEvent): Promise<void> | undefined {
    const group = (this.#waiting ??= this.#begin());
    if (group.events.length >= MAX_WAITING) return undefined;
    group.events.push(event);
    return group.durable;
  }

  /** Returns the waiting events for a commit that is about to happen. */
  take(): NotedEvents | undefined {
    const group = this.#waiting;
    if (!group) return undefined;
    clearTimeout(group.timer);
    this.#waiting = undefined;
    return group;
  }

  /** Writes the given events, or else the waiting ones, in a separate commit. */
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
