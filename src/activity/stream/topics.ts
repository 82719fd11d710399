import type { Visibility } from '../../access/principal.ts';
import type { Id } from '../../kernel/ids.ts';
import type { View } from './frame-chunk.ts';
import type { Ring } from './ring.ts';

/** Obsolete sequences are removed in batches of this size. */
const MAX_GONE = 1024;

/**
 * The events of one agent, of the agents of one user, or of all agents, with the number of subscribers to each type.
 */
export class Topic {
  /** Subscribers by type. */
  readonly #types = new Map<string, number>();
  #listeners = 0;
  /** Sequences of the events in the ring that had a subscriber, oldest first. */
  #seqs: number[] = [];
  #gone = 0;

  get empty(): boolean {
    return this.#listeners === 0;
  }

  get shared(): boolean {
    return this.#listeners > 1;
  }

  join(types: ReadonlySet<string>): void {
    this.#listeners++;
    for (const type of types) this.#types.set(type, (this.#types.get(type) ?? 0) + 1);
  }

  leave(types: ReadonlySet<string>): void {
    this.#listeners--;
    for (const type of types) this.#types.set(type, (this.#types.get(type) ?? 0) - 1);
  }

  wants(type: string): boolean {
    return (this.#types.get(type) ?? 0) > 0;
  }

  push(seq: number, ring: Ring): void {
    this.#seqs.push(seq);
    while ((this.#seqs[this.#gone] as number) < ring.first) this.#gone++;
    if (this.#gone < MAX_GONE) return;
    this.#seqs = this.#seqs.slice(this.#gone);
    this.#gone = 0;
  }

  /** Returns the sequences after `after`, oldest first. */
  after(after: number): readonly number[] {
    let from = this.#seqs.length;
    while (from > this.#gone && (this.#seqs[from - 1] as number) > after) from--;
    return this.#seqs.slice(from);
  }
}

/** A view and the topic that it reads. */
export interface Subscription {
  readonly view: View;
  readonly topic: Topic;
}

const NONE: readonly Topic[] = [];

/** All topics with a subscriber. Events without one are not rendered. */
export class Topics {
  readonly #all = new Map<string, Topic>();
  readonly #users = new Map<string, Topic>();
  readonly #agents = new Map<string, Topic>();

  subscribe(view: View): Subscription {
    const [topics, id] = this.#topicsFor(view.visibility);
    let topic = topics.get(id);
    if (!topic) topics.set(id, (topic = new Topic()));
    topic.join(view.types);
    return { view, topic };
  }

  unsubscribe({ view, topic }: Subscription): void {
    topic.leave(view.types);
    if (!topic.empty) return;
    const [topics, id] = this.#topicsFor(view.visibility);
    if (topics.get(id) === topic) topics.delete(id);
  }

  /** Returns the topics with a subscriber to an event of this type, agent and user. */
  of(type: string, agentId: Id<'agent'> | null, userId: Id<'user'> | null): readonly Topic[] {
    let found = NONE;
    for (const topic of [this.#all.get(''), this.#users.get(userId ?? ''), this.#agents.get(agentId ?? '')])
      if (topic?.wants(type)) found = [...found, topic];
    return found;
  }

  #topicsFor(visibility: Visibility): [Map<string, Topic>, string] {
    switch (visibility.kind) {
      case 'all':
        return [this.#all, ''];
      case 'owner':
        return [this.#users, visibility.userId];
      case 'agent':
        return [this.#agents, visibility.agentId];
    }
  }
}
