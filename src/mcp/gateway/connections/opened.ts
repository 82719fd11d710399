import { defineState } from '../../../platform.ts';

export interface Opened {
  /** Whether the person has an account here. People of the embedding application may have none. */
  readonly known: boolean;
  /** The version of the credentials with which the connection was opened. */
  readonly version: number | undefined;
}

/**
 * The people who have connections or streams on this instance: the credentials with which connections were opened, and
 * the versions of their credentials, by person and server.
 */
class WatchedPeople {
  readonly #opened = new Map<string, Map<string, Opened>>();
  readonly #versions = new Map<string, Map<string, number>>();
  /** Number of connections that this instance has stored. */
  #stored = 0;

  opened(person: string, server: string, opened: Opened): void {
    const own = this.#opened.get(person) ?? new Map<string, Opened>();
    this.#opened.set(person, own.set(server, opened));
  }

  /** Forgets a connection that has ended, so that it is not ended again with the streams that begin later. */
  ended(person: string, server: string): void {
    this.#opened.get(person)?.delete(server);
  }

  of(person: string): ReadonlyMap<string, Opened> {
    return new Map(this.#opened.get(person));
  }

  get stored(): number {
    return this.#stored;
  }

  /** Remembers new credentials whose person's clients are notified on this instance. */
  connected(person: string, server: string, version: number): void {
    this.#stored++;
    this.#versions.get(person)?.set(server, version);
  }

  /**
   * Returns the servers to which the person has connected since the last call. The first call returns none. `versions`
   * were read when `stored` connections had been stored: if there are more now, they are not compared.
   */
  newlyConnected(person: string, versions: ReadonlyMap<string, number>, stored: number): string[] {
    if (stored !== this.#stored) return [];
    const before = this.#versions.get(person);
    this.#versions.set(person, new Map(versions));
    return before ? [...versions].flatMap(([name, version]) => (before.get(name) === version ? [] : name)) : [];
  }

  keepOnly(people: ReadonlySet<string>): void {
    for (const person of this.#opened.keys()) if (!people.has(person)) this.#opened.delete(person);
    for (const person of this.#versions.keys()) if (!people.has(person)) this.#versions.delete(person);
  }
}

export const watchedPeople = defineState(() => new WatchedPeople());
