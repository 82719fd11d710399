import { LRUCache } from 'lru-cache';
import type { Message } from '../guard/json-rpc.ts';
import { BackOff } from './back-off.ts';
import { askableOf } from './client-requests.ts';
import type { Tool } from './definitions.ts';
import { ErrorAnswer, introduce, readTools, type ServerInfo } from './list-tools.ts';
import { MODERN_REVISION } from './messages.ts';
import { type Hold, type OnConnection, personOf } from './on-connection.ts';
import { paramHeaders } from './param-headers.ts';
import {
  type Answer,
  InputNotRead,
  NotConnected,
  type OpenChannel,
  OutcomeUnknown,
  openLater,
  Peer,
  type RequestOptions,
  ServerUnavailable,
  SessionEnded,
} from './peer.ts';
import type { GatewayServer } from './servers-file.ts';
import { Slots } from './slots.ts';
import { byUse, type Connected, type Entry } from './upstream-entry.ts';
import type { UpstreamEvents } from './upstream-events.ts';
import { UpstreamListening } from './upstream-listening.ts';

const MAX_NAMES = 1000;

type Notification = [method: string, params: Message, client: object | undefined];

/** Opens a connection for a key. */
export type OpenFor = (key: string) => OpenChannel;

/**
 * The connections to one configured server, one for each key (a person, a session, or all clients). Opened when needed,
 * ended when idle, limited in number, and opened again with a growing pause after a failure.
 */
export class Upstreams {
  readonly #server: GatewayServer;
  readonly #openFor: OpenFor;
  readonly #events: UpstreamEvents;
  readonly #entries = new Map<string, Entry>();
  readonly #backOff = new BackOff();
  /** Entries whose session has ended at the server, while requests on them are still in progress, with their keys. */
  readonly #replaced = new Map<Entry, string>();
  readonly #closing = new Set<Promise<void>>();
  readonly #slots: Slots;
  #stopped = false;
  #problem: string | undefined;
  readonly #serverInfos = new LRUCache<string, Message>({ max: MAX_NAMES });

  constructor(server: GatewayServer, openFor: OpenFor, events: UpstreamEvents) {
    this.#server = server;
    this.#openFor = openFor;
    this.#events = events;
    this.#slots = new Slots(server.legate.limits.processes);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Returns whether there is a connection on which requests can be sent immediately. */
  isReady(key: string): boolean {
    return this.#entries.get(key)?.connected !== undefined;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Why the last connection could not be opened, broke, or took no more input; undefined as soon as another one is
   * open.
   */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** How the server has named itself on the last connection of a key. */
  serverInfo(key: string): Message {
    return this.#serverInfos.get(key) ?? {};
  }

  get #timeoutMs(): number {
    return this.#server.legate.limits.callSeconds * 1000;
  }

  /** Returns the server's description of itself. Throws {@link ServerUnavailable}. */
  info(key: string): ServerInfo | Promise<ServerInfo> {
    const entry = this.#entries.get(key);
    if (!entry?.connected) return this.#use(key, async ({ info }) => info);
    entry.usedAt = performance.now();
    return entry.connected.info;
  }

  /** Sends a request. Throws {@link ServerUnavailable}, {@link OutcomeUnknown}, CallTimedOut. */
  request(
    key: string,
    method: string,
    params: Message,
    options: Omit<RequestOptions, 'headers' | 'timeoutMs'>,
    { check, answered }: OnConnection = {},
  ): Promise<Answer> {
    return this.#use(key, async ({ peer, schemas }, entry) => {
      check?.();
      const headers =
        method === 'tools/call' ? paramHeaders(schemas.get(String(params['name'])), params['arguments']) : undefined;
      const answer = await peer.request(method, params, { headers, timeoutMs: this.#timeoutMs, ...options });
      answered?.(answer, () => this.#hold(key, entry));
      return answer;
    });
  }

  /** Listens to resources at the server. Returns those that the server refuses, and a hold of the connection. */
  subscribe(
    key: string,
    uris: readonly string[],
  ): Promise<{ readonly refused: ReadonlySet<string>; readonly hold: Hold }> {
    return this.#use(key, async ({ peer, listening }, entry) => {
      if (listening) return { refused: await listening.add(uris), hold: this.#hold(key, entry) };
      const refused = new Set<string>();
      for (const uri of uris)
        if ('error' in (await peer.request('resources/subscribe', { uri }, { timeoutMs: this.#timeoutMs })))
          refused.add(uri);
      return { refused, hold: this.#hold(key, entry) };
    });
  }

  /** Does the work on the connection of a key, without a second attempt. Throws {@link ServerUnavailable}. */
  useOnce(key: string, work: (connected: Connected, timeoutMs: number) => Promise<void>): Promise<void> {
    return this.#use(key, (connected) => work(connected, this.#timeoutMs), 1);
  }

  /** Ends listening to resources, if there is a connection. */
  async unsubscribe(key: string, uris: readonly string[]): Promise<void> {
    if (!this.has(key) || uris.length === 0) return;
    await this.#use(key, async ({ peer, listening }) => {
      if (listening) return listening.remove(uris);
      for (const uri of uris) await peer.request('resources/unsubscribe', { uri }, { timeoutMs: this.#timeoutMs });
    }).catch(() => {});
  }

  #hold(key: string, entry: Entry): Hold {
    const isOpen = (): boolean => this.#entries.get(key) === entry;
    if (this.#stopped || !isOpen()) throw new OutcomeUnknown('the connection ended');
    entry.running++;
    return {
      get isOpen() {
        return isOpen();
      },
      release: () => this.#done(key, entry),
    };
  }

  /** Sends a notification, if there is a connection. */
  notify(key: string, method: string): void {
    this.#entries.get(key)?.ready.then(
      ({ peer }) => peer.notify(method),
      () => {},
    );
  }

  /** Lists all tools again. */
  tools(key: string): Promise<Tool[]> {
    return this.#use(key, (connected) => this.#list(key, connected));
  }

  /** Lists the tools of these open connections again, in the background. */
  listAgain(isMeant: (key: string) => boolean): void {
    for (const key of this.#entries.keys())
      if (this.isReady(key) && isMeant(key))
        this.#use(key, (connected) => this.#list(key, connected), 1).catch(() => {});
  }

  /** Ends one connection, or all, with the pauses after failures. */
  async end(key?: string): Promise<void> {
    if (key !== undefined) return this.#end(key);
    for (const one of [...this.#entries.keys()]) void this.#end(one);
    for (const entry of [...this.#replaced.keys()]) void this.#close(entry);
    this.#backOff.forget();
    this.#problem = undefined;
    await Promise.all(this.#closing);
  }

  /** The people who have connections. */
  people(): ReadonlySet<string> {
    return new Set([...this.#entries.keys(), ...this.#replaced.values()].map(personOf).filter((one) => one !== ''));
  }

  /** Ends the connections of a person immediately. The next ones are opened without a pause. */
  async endPerson(person: string): Promise<void> {
    const own = (key: string): boolean => personOf(key) === person;
    const ending = [...this.#entries.keys()].filter(own).map((key) => this.#end(key, true));
    for (const [entry, key] of [...this.#replaced]) if (own(key)) ending.push(this.#close(entry, true));
    this.#backOff.forget(person);
    await Promise.all(ending);
  }

  /** Opens no further connections, and ends each connection when no request is in progress on it. */
  finish(): void {
    this.#stopped = true;
    for (const [key, { running }] of this.#entries) if (running === 0) void this.#end(key);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.end();
  }

  /** Ends connections that were not used for `idleSeconds`, unless a client waits for their notifications. */
  endIdle(isHeard: (key: string) => boolean): void {
    const since = performance.now() - this.#server.legate.limits.idleSeconds * 1000;
    for (const [key, entry] of this.#entries)
      if (entry.running === 0 && entry.usedAt <= since && !isHeard(key)) void this.#end(key);
  }

  /** Does the work on a connection; once more on a new one if the server has ended the session before the work. */
  async #use<T>(key: string, work: (connected: Connected, entry: Entry) => Promise<T>, attempts = 2): Promise<T> {
    for (let left = attempts; ; left--) {
      const entry = this.#open(key);
      entry.running++;
      try {
        return await work(entry.connected ?? (await entry.ready), entry);
      } catch (error) {
        if (error instanceof InputNotRead) this.#tell(error.message);
        if (!(error instanceof SessionEnded)) throw error;
        this.#replace(key, entry);
        if (left <= 1) throw error;
      } finally {
        this.#done(key, entry);
      }
    }
  }

  #done(key: string, entry: Entry): void {
    entry.running--;
    entry.usedAt = performance.now();
    if (entry.running > 0) return;
    if (this.#replaced.has(entry)) void this.#close(entry);
    else if (this.#stopped && this.#entries.get(key) === entry) void this.#end(key);
  }

  /** The next request opens another connection. Requests on this one get their own answers first. */
  #replace(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    this.#replaced.set(entry, key);
    this.#slots.free();
    this.#events.ended(key);
  }

  #open(key: string): Entry {
    const existing = this.#entries.get(key);
    if (existing) return existing;
    if (this.#stopped) throw new ServerUnavailable('the gateway is stopping');
    if (this.#backOff.isPausing(key)) throw new ServerUnavailable('it failed recently and will be started again soon');
    this.#makeRoom();
    const events = {
      notified: (...notification: Notification) => void this.#notified(key, peer, notification),
      ended: (error: Error) => this.#failed(key, peer, error),
    };
    const slot = this.#slots.take();
    const open = (): Peer => {
      const opening = slot ? openLater(slot.then(() => this.#openFor(key))) : this.#openFor(key);
      return new Peer(opening, events, askableOf(this.#server));
    };
    let peer: Peer;
    try {
      peer = open();
    } catch (error) {
      // A process cannot be started, for example because this one has no more file descriptors.
      this.#slots.free();
      this.#tell((error as Error).message);
      this.#backOff.failed(key, performance.now());
      throw new ServerUnavailable((error as Error).message);
    }
    const ready = this.#connect(key, peer);
    const now = performance.now();
    const entry: Entry = { peer, ready, connected: undefined, openedAt: now, changes: 0, running: 0, usedAt: now };
    ready.then(
      (connected) => {
        entry.connected = connected;
        this.#serverInfos.set(key, connected.info.serverInfo);
        this.#problem = undefined;
        this.#events.opened(key);
      },
      () => {},
    );
    this.#entries.set(key, entry);
    return entry;
  }

  async #connect(key: string, peer: Peer): Promise<Connected> {
    try {
      const info = await introduce(peer, this.#server, this.#timeoutMs);
      const notified = (method: string, params: Message) => void this.#notified(key, peer, [method, params, undefined]);
      const listening =
        info.revision === MODERN_REVISION ? new UpstreamListening(peer, info, this.#timeoutMs, notified) : undefined;
      const connected = { peer, info, schemas: new Map(), listening };
      await this.#list(key, connected);
      return connected;
    } catch (error) {
      if (error instanceof NotConnected) {
        if (this.#entries.get(key)?.peer === peer) void this.#end(key);
        throw error;
      }
      this.#failed(key, peer, error as Error);
      throw new ServerUnavailable((error as Error).message);
    }
  }

  async #list(key: string, connected: Connected): Promise<Tool[]> {
    const { peer, info } = connected;
    const tools = await readTools(peer, info, this.#timeoutMs);
    if (info.revision === MODERN_REVISION)
      connected.schemas = new Map(tools.map((tool) => [tool.name, tool['inputSchema']]));
    await this.#events.listed(key, tools);
    return tools;
  }

  async #notified(key: string, peer: Peer, notification: Notification): Promise<void> {
    const [method] = notification;
    const entry = this.#entries.get(key);
    if (entry?.peer !== peer) return;
    try {
      // The new definitions are recorded before a client can call them.
      if (method === 'notifications/tools/list_changed' && !(await this.#listAgain(key, entry))) return;
    } catch {
      return;
    }
    this.#events.notified(key, ...notification);
  }

  /**
   * Lists the tools, and lists them again until they do not change during that. Returns false if an earlier
   * notification is still handled, because a server may send any number of them.
   */
  async #listAgain(key: string, entry: Entry): Promise<boolean> {
    const isFirst = entry.changes === 0;
    entry.changes++;
    if (!isFirst) return false;
    try {
      const connected = await entry.ready;
      for (let seen = 0; seen < entry.changes; ) {
        seen = entry.changes;
        await this.#list(key, connected);
      }
      return true;
    } finally {
      entry.changes = 0;
    }
  }

  #makeRoom(): void {
    if (this.#entries.size < this.#server.legate.limits.processes) return;
    const [idle] = [...this.#entries].filter(([, { running }]) => running === 0).sort(byUse);
    if (!idle) throw new ServerUnavailable('too many connections to it are in use');
    void this.#end(idle[0]);
  }

  #failed(key: string, peer: Peer, error: Error): void {
    const entry = this.#entries.get(key);
    // If `connect` fails, it does so in a later microtask, when the entry exists.
    if (entry?.peer !== peer) return;
    this.#tell(error instanceof ErrorAnswer ? error.summary : error.message);
    this.#backOff.failed(key, entry.openedAt);
    void this.#end(key);
  }

  #tell(problem: string): void {
    if (problem !== this.#problem) this.#events.failed(problem);
    this.#problem = problem;
  }

  async #end(key: string, atOnce = false): Promise<void> {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#events.ended(key);
    await this.#close(entry, atOnce);
  }

  async #close(entry: Entry, atOnce = false): Promise<void> {
    // The session of a replaced connection had ended, so its slot is free already.
    const hasSlot = !this.#replaced.delete(entry);
    const closing = entry.peer.close(atOnce).finally(() => {
      this.#closing.delete(closing);
      if (hasSlot) this.#slots.free();
    });
    this.#closing.add(closing);
    entry.ready.then(
      ({ listening }) => listening?.stop(),
      () => {},
    );
    await closing;
  }
}
