import { isObject, type Message } from '../guard/json-rpc.ts';
import { Ending } from './ending.ts';
import type { ServerInfo } from './list-tools.ts';
import { paramsPassedOn } from './messages.ts';
import type { Answer, Peer } from './peer.ts';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
/** Maximum number of resources to which clients of one connection may listen. */
const MAX_URIS = 1000;
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** Lists that a server may announce as changed, each with its member of a filter. */
const LISTS = [
  ['tools', 'toolsListChanged'],
  ['prompts', 'promptsListChanged'],
  ['resources', 'resourcesListChanged'],
] as const;

type Notified = (method: string, params: Message) => void;

interface Stream {
  readonly uris: ReadonlySet<string>;
  readonly closing: Ending;
}

/**
 * The notifications that the gateway receives from a server of 2026-07-28 for all clients of one connection, with one
 * `subscriptions/listen` at a time. For a further resource, a new stream begins, and the old one ends once the new one
 * is acknowledged, so that no notification is missed. After a stream broke and was opened again, everything counts as
 * changed.
 */
export class UpstreamListening {
  readonly #peer: Peer;
  readonly #lists: Message;
  readonly #hasResources: boolean;
  readonly #timeoutMs: number;
  readonly #notified: Notified;
  readonly #uris = new Set<string>();
  #stream: Stream | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #again: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #stopped = false;

  constructor(peer: Peer, { capabilities }: ServerInfo, timeoutMs: number, notified: Notified) {
    const has = (name: string, what: string): boolean =>
      isObject(capabilities[name]) && capabilities[name][what] === true;
    this.#peer = peer;
    this.#timeoutMs = timeoutMs;
    this.#notified = notified;
    this.#lists = Object.fromEntries(
      LISTS.filter(([name]) => has(name, 'listChanged')).map(([, member]) => [member, true]),
    );
    this.#hasResources = has('resources', 'subscribe');
    if (Object.keys(this.#lists).length > 0) void this.#inTurn();
  }

  /** Adds resources to listen to. Returns those that the server does not support. */
  async add(uris: readonly string[]): Promise<ReadonlySet<string>> {
    const added = uris.filter((uri) => !this.#uris.has(uri));
    if (!this.#hasResources || this.#uris.size + added.length > MAX_URIS) return new Set(uris);
    for (const uri of added) this.#uris.add(uri);
    await this.#inTurn();
    const refused = new Set(uris.filter((uri) => this.#stream?.uris.has(uri) !== true));
    for (const uri of refused) this.#uris.delete(uri);
    return refused;
  }

  async remove(uris: readonly string[]): Promise<void> {
    for (const uri of uris) this.#uris.delete(uri);
    await this.#inTurn();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#again);
    this.#stream?.closing.end();
  }

  /** Runs changes of the stream one after the other. */
  #inTurn(): Promise<unknown> {
    this.#turn = this.#turn.then(() => this.#listen());
    return this.#turn;
  }

  /** Resolves once the server has acknowledged or refused the stream. */
  async #listen(): Promise<void> {
    const before = this.#stream;
    const uris = [...this.#uris];
    if (this.#stopped || (before && uris.length === before.uris.size && uris.every((uri) => before.uris.has(uri))))
      return;
    const filter = { ...this.#lists, ...(uris.length > 0 && { resourceSubscriptions: uris }) };
    if (Object.keys(filter).length === 0) {
      this.#stream = undefined;
      before?.closing.end();
      return;
    }
    const closing = new Ending();
    await new Promise<void>((resolve) => {
      let stream: Stream | undefined;
      const heard = (method: string, params: Message): boolean => {
        if (method === ACKNOWLEDGED && !stream) {
          stream = { uris: honouredOf(params), closing };
          this.#stream = stream;
          before?.closing.end();
          this.#pauseMs = FIRST_PAUSE_MS;
          resolve();
        } else if (stream && stream === this.#stream) this.#notified(method, paramsPassedOn(params));
        return stream !== undefined;
      };
      const ended = (answer?: Answer): void => {
        resolve();
        const isCurrent = stream === undefined ? before === undefined : stream === this.#stream;
        if (!isCurrent || this.#stopped || this.#peer.ended) return;
        this.#stream = undefined;
        // A server that does not know the method or refuses the filter is not asked again automatically.
        if (!(answer && 'error' in answer)) this.#listenAgain();
      };
      this.#peer
        .request(
          'subscriptions/listen',
          { notifications: filter },
          {
            timeoutMs: this.#timeoutMs,
            signal: closing,
            heard,
          },
        )
        .then(ended, () => ended());
    });
  }

  #listenAgain(): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => {
      void this.#inTurn().then(() => {
        if (this.#stream) this.#tellAll(this.#stream);
      });
    }, this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  /** Changes may have been missed while there was no stream. */
  #tellAll({ uris }: Stream): void {
    for (const [name, member] of LISTS)
      if (this.#lists[member] === true) this.#notified(`notifications/${name}/list_changed`, {});
    for (const uri of uris) this.#notified('notifications/resources/updated', { uri });
  }
}

/** Returns the resources of an acknowledgement. */
function honouredOf({ notifications }: Message): ReadonlySet<string> {
  const uris = isObject(notifications) ? notifications['resourceSubscriptions'] : undefined;
  return new Set(Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : []);
}
