import type { ClientSessions } from './sessions.ts';
import type { Upstreams } from './upstreams.ts';

/** Resources to which a client begins to listen. */
interface Beginning {
  readonly key: string;
  readonly uris: readonly string[];
}

/** Identifies a resource on a connection. */
const nameOf = (key: string, uri: string): string => JSON.stringify([key, uri]);

/** The resources to which the gateway listens at the server, for the clients of each connection. */
export class Subscriptions {
  readonly #upstreams: Upstreams;
  readonly #sessions: ClientSessions;
  readonly #beginning = new Set<Beginning>();
  readonly #ending = new Map<string, Promise<void>>();

  constructor(upstreams: Upstreams, sessions: ClientSessions) {
    this.#upstreams = upstreams;
    this.#sessions = sessions;
  }

  /**
   * Runs the work that begins to listen for a client, up to the point where the client is one of those who listen.
   * Meanwhile the resources stay subscribed, even if the last other client stops listening to them.
   */
  async beginning<T>(key: string, uris: readonly string[], work: () => Promise<T>): Promise<T> {
    const own: Beginning = { key, uris };
    const unheard = new Set(this.#sessions.unheard(key, uris));
    this.#beginning.add(own);
    let unwanted = uris;
    try {
      // The server may handle two requests that arrive at the same time in any order.
      await Promise.all(uris.map((uri) => this.#ending.get(nameOf(key, uri))));
      const begun = await work();
      // The last other client may have stopped. What nobody listened to before was subscribed now, or refused.
      unwanted = uris.filter((uri) => !unheard.has(uri));
      return begun;
    } finally {
      this.#beginning.delete(own);
      void this.end(key, unwanted);
    }
  }

  /** Listens to resources at the server, unless another client already does. */
  subscribe(key: string, uris: readonly string[]): ReturnType<Upstreams['subscribe']> {
    return this.#upstreams.subscribe(key, this.#sessions.unheard(key, uris));
  }

  /** Stops listening to resources in which no client is interested now. */
  async end(key: string, uris: readonly string[]): Promise<void> {
    const wanted = new Set([...this.#beginning].flatMap((one) => (one.key === key ? one.uris : [])));
    const unwanted = this.#sessions.unheard(key, uris).filter((uri) => !wanted.has(uri));
    if (unwanted.length === 0) return;
    const ending = this.#upstreams.unsubscribe(key, unwanted);
    for (const uri of unwanted) this.#ending.set(nameOf(key, uri), ending);
    await ending;
    for (const uri of unwanted)
      if (this.#ending.get(nameOf(key, uri)) === ending) this.#ending.delete(nameOf(key, uri));
  }
}
