import { defineState } from '../../../platform.ts';

export interface Opened {
  /** Whether the person has an account here. People of the embedding application may have none. */
  readonly known: boolean;
  /** The version of the credentials with which the connection was opened. */
  readonly version: number | undefined;
}

/** The credentials with which connections were opened on this instance, by person and server. */
class WatchedPeople {
  readonly #opened = new Map<string, Map<string, Opened>>();

  opened(person: string, server: string, opened: Opened): void {
    const own = this.#opened.get(person) ?? new Map<string, Opened>();
    this.#opened.set(person, own.set(server, opened));
  }

  of(person: string): ReadonlyMap<string, Opened> {
    return new Map(this.#opened.get(person));
  }

  keepOnly(people: ReadonlySet<string>): void {
    for (const person of this.#opened.keys()) if (!people.has(person)) this.#opened.delete(person);
  }
}

export const watchedPeople = defineState(() => new WatchedPeople());
