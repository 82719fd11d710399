import { randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Id } from '../../kernel/ids.ts';
import { InProgress } from '../../kernel/in-progress.ts';
import { onTool } from '../guard/asks.ts';
import type { McpAuth } from '../guard/guard-options.ts';
import { isObject, type Message, type RpcError } from '../guard/json-rpc.ts';
import { agentOf, callerOf } from './caller-of.ts';
import { ANSWER_MS, answerOf, CANNOT_ANSWER, canAnswer, NOT_ANSWERED } from './client-requests.ts';
import type { Ending } from './ending.ts';
import type { EventStream } from './event-stream.ts';
import { type Listener, listChanges } from './listening.ts';
import { type Permitted, unreadable } from './lists/readable.ts';
import { paramsPassedOn, URL_ELICITATION_REQUIRED } from './messages.ts';
import { personOf } from './on-connection.ts';
import type { Answer, ServerRequest } from './peer.ts';

const MAX_SESSIONS = 20_000;
/** Maximum number of elicitations of one session that may still be completed. */
const MAX_ELICITATIONS = 100;
export const ELICITATION_COMPLETE = 'notifications/elicitation/complete';

export const newSessionId = (): string => randomBytes(24).toString('base64url');

/** A client's session, in revisions of MCP before 2026-07-28. */
export class Session {
  readonly id: string;
  readonly caller: string;
  /** The person whom the caller acts for. */
  readonly person: string;
  readonly agent: Id<'agent'>;
  /** The connection to the server that its requests use. */
  readonly key: string;
  /** Capabilities that the client has declared. */
  readonly capabilities: Message;
  readonly revision: string;
  /** Capabilities of the server, as declared to the client. */
  readonly offered: Message;
  readonly streams = new Set<EventStream>();
  /** URIs of the resources that the client listens to. */
  readonly subscriptions = new Set<string>();
  /** Whether the client may read resources, by the token of the stream that was opened last. */
  permitted: Permitted;
  /** Requests in progress, by the client's id. */
  readonly running = new InProgress<Ending>();
  /** Requests of the server that the client has not answered yet. */
  readonly #asked = new Map<unknown, (answer: Answer) => void>();
  /** Ids of the session's elicitations, by the server's ids, which two clients of a connection may share. */
  readonly #elicitations = new LRUCache<string, string>({ max: MAX_ELICITATIONS });
  /** Tools that the client has called in this session. */
  readonly #called = new Set<string>();
  #forbidden: ReadonlySet<string> = new Set();
  #lastNarrowing = 0;
  #lastAsked = 0;

  constructor(
    given: Pick<Session, 'id' | 'caller' | 'person' | 'agent' | 'key' | 'capabilities' | 'revision' | 'offered'>,
  ) {
    this.id = given.id;
    this.caller = given.caller;
    this.person = given.person;
    this.agent = given.agent;
    this.key = given.key;
    this.capabilities = given.capabilities;
    this.revision = given.revision;
    this.offered = given.offered;
  }

  /**
   * Stops listening to resources that the client may no longer read, and returns them. Stops notifying it of tasks
   * whose calls are no longer permitted.
   */
  async narrow(): Promise<string[]> {
    const tools = [...this.#called];
    const run = ++this.#lastNarrowing;
    const allowed = await this.permitted?.(tools.map(onTool)).catch((): boolean[] => []);
    // An earlier run may end after a later one.
    if (run === this.#lastNarrowing) this.#forbidden = new Set(allowed && tools.filter((_, n) => allowed[n] !== true));
    const lost = await unreadable([...this.subscriptions], this.permitted);
    for (const uri of lost) this.subscriptions.delete(uri);
    return lost;
  }

  /** Returns a function that sends changes of a task while the call that created it is permitted. */
  taskNotifier(tool: string): (changed: Message) => void {
    this.#called.add(tool);
    return (changed) => {
      if (!this.#forbidden.has(tool)) this.send(changed);
    };
  }

  /** Sends a message on the stream of the session. Returns false if the client has none. */
  send(message: Message): boolean {
    // A client that listens again may have lost its earlier stream without the close being noticed.
    const stream = [...this.streams].at(-1);
    stream?.send(message);
    return stream !== undefined;
  }

  /**
   * Passes a request of a server on to the client, with an id of this session. `send` is tried before the session's
   * stream.
   */
  ask({ method, params, signal }: ServerRequest, send: (message: Message) => boolean): Promise<Answer> {
    if (!canAnswer(this.capabilities, method, params)) return Promise.resolve(CANNOT_ANSWER);
    const id = `ask-${++this.#lastAsked}`;
    const asked = { ...paramsPassedOn(params) };
    if (asked['mode'] === 'url') asked['elicitationId'] = this.#elicitationId(asked['elicitationId']);
    const sendAnywhere = (message: Message): boolean => send(message) || this.send(message);
    if (signal.isEnded || !sendAnywhere({ jsonrpc: '2.0', id, method, params: asked }))
      return Promise.resolve(NOT_ANSWERED);
    return new Promise((resolve) => {
      const settle = (answer: Answer): void => {
        if (!this.#asked.delete(id)) return;
        clearTimeout(timer);
        signal.off(giveUp);
        resolve(answer);
      };
      const giveUp = (): void => {
        sendAnywhere({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
        settle(NOT_ANSWERED);
      };
      const timer = setTimeout(giveUp, ANSWER_MS).unref();
      this.#asked.set(id, settle);
      signal.onEnd(giveUp);
    });
  }

  /** Handles the client's answer to a request of the server. Ignores answers without a request. */
  answered(message: Message): void {
    this.#asked.get(message['id'])?.(answerOf(message));
  }

  /** Returns an error of the server with the elicitation ids of this session. */
  errorFor(error: RpcError): RpcError {
    const { code, data } = error;
    if (code !== URL_ELICITATION_REQUIRED || !isObject(data) || !Array.isArray(data['elicitations'])) return error;
    const elicitations = data['elicitations'].map((one: unknown) =>
      isObject(one) ? { ...one, elicitationId: this.#elicitationId(one['elicitationId']) } : one,
    );
    return { ...error, data: { ...data, elicitations } };
  }

  /** Returns an id of this session. Servers of 2026-07-28 have none, and clients of 2025-11-25 need one. */
  #elicitationId(ofServer: unknown): string {
    const known = typeof ofServer === 'string' ? this.#elicitations.get(ofServer) : undefined;
    const id = known ?? randomUUID();
    if (typeof ofServer === 'string') this.#elicitations.set(ofServer, id);
    return id;
  }

  awaits(elicitation: string): boolean {
    return this.#elicitations.has(elicitation);
  }

  /** Notifies the client once that an elicitation is complete. */
  completed(elicitation: string): void {
    const elicitationId = this.#elicitations.get(elicitation);
    this.#elicitations.delete(elicitation);
    this.send({ jsonrpc: '2.0', method: ELICITATION_COMPLETE, params: { elicitationId } });
  }

  forgetElicitations(): void {
    this.#elicitations.clear();
  }

  end(): void {
    for (const stream of this.streams) stream.end();
    for (const settle of this.#asked.values()) settle(NOT_ANSWERED);
  }
}

/**
 * The clients of one server that receive notifications: sessions and listeners. Beyond a limit, the person with the
 * most sessions loses the one that was unused for longest, so that nobody can end the sessions of others. If everybody
 * has one, the one that was unused for longest ends.
 */
export class ClientSessions {
  readonly listeners = new Set<Listener>();
  /** Those that were unused for longest first. */
  readonly #open = new Map<string, Session>();
  /** The ids of each person's sessions, those that were unused for longest first. */
  readonly #ofPeople = new Map<string, Set<string>>();

  open(auth: McpAuth, given: Omit<ConstructorParameters<typeof Session>[0], 'caller' | 'person' | 'agent'>): void {
    const { userId: person } = auth;
    const session = new Session({ ...given, person, caller: callerOf(auth), agent: agentOf(auth) });
    this.#open.set(session.id, session);
    const own = this.#ofPeople.get(person) ?? new Set();
    this.#ofPeople.set(person, own.add(session.id));
    if (this.#open.size <= MAX_SESSIONS) return;
    let most = own;
    for (const ids of this.#ofPeople.values()) if (ids.size > most.size) most = ids;
    const [oldest] = most.size === 1 ? this.#open.keys() : most;
    if (oldest !== undefined) this.end(oldest);
  }

  /** Returns undefined for a session of another caller. */
  find(auth: McpAuth, id: string): Session | undefined {
    const session = this.#open.get(id);
    if (session?.caller !== callerOf(auth)) return undefined;
    const own = this.#ofPeople.get(session.person);
    own?.delete(id);
    own?.add(id);
    this.#open.delete(id);
    this.#open.set(id, session);
    return session;
  }

  end(id: string): void {
    const session = this.#open.get(id);
    if (!session) return;
    this.#open.delete(id);
    const own = this.#ofPeople.get(session.person);
    own?.delete(id);
    if (own?.size === 0) this.#ofPeople.delete(session.person);
    session.end();
  }

  /** Ends the streams of notifications. */
  endStreams(): void {
    for (const listener of [...this.listeners]) listener.end();
    for (const { streams } of this.#open.values()) for (const stream of [...streams]) stream.end();
  }

  clear(): void {
    this.endStreams();
    for (const id of [...this.#open.keys()]) this.end(id);
  }

  /** Returns the resources to which no client of this connection listens. */
  unheard(key: string, uris: readonly string[]): string[] {
    const listeners = [...this.listeners].filter((one) => one.key === key);
    const sessions = [...this.#open.values()].filter((one) => one.key === key);
    return uris.filter(
      (uri) =>
        !listeners.some((one) => one.listensTo(uri)) && !sessions.some(({ subscriptions }) => subscriptions.has(uri)),
    );
  }

  /** Returns the resources to which sessions of this connection listen, first those of sessions with a stream. */
  subscribedAt(key: string): string[] {
    const own = [...this.#open.values()].filter((one) => one.key === key);
    const isOpen = ({ streams }: Session): boolean => streams.size > 0;
    const ordered = [...own.filter(isOpen), ...own.filter((one) => !isOpen(one))];
    return [...new Set(ordered.flatMap(({ subscriptions }) => [...subscriptions]))];
  }

  /** Ends the subscriptions of sessions to a resource to which the gateway does not listen. */
  forgetResource(key: string, uri: string): void {
    for (const session of this.#open.values()) if (session.key === key) session.subscriptions.delete(uri);
  }

  /** Returns whether a client of this connection listens to a resource on the stream of its session. */
  isHeard(key: string): boolean {
    return [...this.#open.values()].some(
      (one) => one.key === key && one.streams.size > 0 && one.subscriptions.size > 0,
    );
  }

  /**
   * Notifies the session to which an elicitation belongs that it is complete. If the server has used its id for several
   * clients and does not identify one, the notification is dropped.
   */
  completed(key: string, { elicitationId }: Message, client: object | undefined): void {
    if (typeof elicitationId !== 'string') return;
    const own = [...this.#open.values()].filter((one) => one.key === key && one.awaits(elicitationId));
    const [session, ...others] = client === undefined ? own : own.filter((one) => one === client);
    if (others.length === 0) session?.completed(elicitationId);
  }

  /** Deletes the ids of a connection that ended. */
  forgetElicitations(key: string): void {
    for (const session of this.#open.values()) if (session.key === key) session.forgetElicitations();
  }

  /**
   * Passes a notification of the server to those who use its connection, or a connection of this person. A log message
   * that arrived on the response to a request is only for the client of that request.
   */
  notify(key: string | undefined, method: string, params: Message, client?: object): void {
    const { uri } = params;
    const isUpdate = method === 'notifications/resources/updated';
    const isOfOne = method === 'notifications/message' && client !== undefined;
    if (isUpdate && typeof uri !== 'string') return;
    const concerns = (other: string): boolean => key === undefined || other === key || personOf(other) === key;
    for (const listener of this.listeners) if (concerns(listener.key)) listener.notify(method, params);
    for (const session of this.#open.values()) {
      if (!concerns(session.key)) continue;
      if (isUpdate && !session.subscriptions.has(uri as string)) continue;
      if (isOfOne && session !== client) continue;
      session.send({ jsonrpc: '2.0', method, params });
    }
  }

  /** The agents whose clients receive notifications on an open stream. */
  agents(): Set<Id<'agent'>> {
    const sessions = [...this.#open.values()].filter(({ streams }) => streams.size > 0);
    return new Set([...this.listeners, ...sessions].map(({ agent }) => agent));
  }

  /** Stops passing on changes of resources that an agent may no longer read. Returns these, with their connections. */
  narrow(agent: Id<'agent'>): Promise<{ readonly key: string; readonly lost: readonly string[] }[]> {
    const own = [...this.listeners, ...this.#open.values()].filter((one) => one.agent === agent);
    return Promise.all(own.map(async (one) => ({ key: one.key, lost: await one.narrow() })));
  }

  /** Notifies the clients of an agent that the lists of what they may use have changed. */
  announceLists(agent: Id<'agent'>): void {
    for (const listener of this.listeners)
      if (listener.agent === agent) for (const method of listChanges()) listener.notify(method, {});
    for (const session of this.#open.values())
      if (session.agent === agent)
        for (const method of listChanges(session.offered)) session.send({ jsonrpc: '2.0', method });
  }
}
