import type { Visibility } from '../../access/principal.ts';
import type { View } from './piece.ts';
import type { Ring } from './ring.ts';

/** Sequences before the first one kept are cleared away when they are so many. */
const MAX_GONE = 1024;

/** Everything of one agent, of one user's agents, or everything: what those who listen for it share. */
export class Channel {
  /** How many listen for each type. */
  readonly #types = new Map<string, number>();
  #listeners = 0;
  /** Events in the ring that somebody here listened for, oldest first. */
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

  /** Those behind `after`, oldest first. */
  behind(after: number): readonly number[] {
    let from = this.#seqs.length;
    while (from > this.#gone && (this.#seqs[from - 1] as number) > after) from--;
    return this.#seqs.slice(from);
  }
}

/** Where a view listens. */
export interface Place {
  readonly view: View;
  readonly channel: Channel;
}

const NONE: readonly Channel[] = [];

/** Who listens for what, so that nothing is made that nobody sees. */
export class Channels {
  readonly #all = new Map<string, Channel>();
  readonly #users = new Map<string, Channel>();
  readonly #agents = new Map<string, Channel>();

  follow(view: View): Place {
    const [channels, id] = this.#placeOf(view.visibility);
    let channel = channels.get(id);
    if (!channel) channels.set(id, (channel = new Channel()));
    channel.join(view.types);
    return { view, channel };
  }

  unfollow({ view, channel }: Place): void {
    channel.leave(view.types);
    if (!channel.empty) return;
    const [channels, id] = this.#placeOf(view.visibility);
    if (channels.get(id) === channel) channels.delete(id);
  }

  /** Those on which somebody listens for an event of this type, agent and user. */
  of(type: string, agentId: string | null, userId: string | null): readonly Channel[] {
    let found = NONE;
    for (const channel of [this.#all.get(''), this.#users.get(userId ?? ''), this.#agents.get(agentId ?? '')])
      if (channel?.wants(type)) found = [...found, channel];
    return found;
  }

  #placeOf(visibility: Visibility): [Map<string, Channel>, string] {
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
