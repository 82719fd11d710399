import type { Id } from '../../kernel/ids.ts';
import type { Call } from '../../platform.ts';
import { isReservedName } from '../guard/asks.ts';
import { Guard, type Passed } from '../guard/guard.ts';
import type { GuardingLegate, McpAuth } from '../guard/guard-options.ts';
import { idOf, type Message, messagesOf, paramsOf, parseBody, revisionOf } from '../guard/json-rpc.ts';
import { REFUSED } from '../guard/refusals.ts';
import { type ClientAnswer, eventStream, rpcError, SESSION_NOT_FOUND, SessionNotFound, statusOf } from './answers.ts';
import { agentOf, callerOf } from './caller-of.ts';
import { Ending } from './ending.ts';
import { EventStream } from './event-stream.ts';
import { InForce } from './in-force.ts';
import { filterOf, honoured, Listener } from './listening.ts';
import type { PermittedLists } from './lists/permitted-lists.ts';
import {
  failureAnswer,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_ALLOWED,
  MODERN_REVISION,
  NOTIFICATIONS,
  STOPPING,
} from './messages.ts';
import { ServerUnavailable } from './peer.ts';
import { ApprovedTools } from './pins/approved-tools.ts';
import type { Pins } from './pins/pins.ts';
import type { RecordCall } from './record-call.ts';
import { bytesOf } from './request-body.ts';
import { assertForm, assertJson } from './request-form.ts';
import { type Context, Requests } from './requests.ts';
import { answerText } from './result-text.ts';
import type { GatewayServer } from './servers-file.ts';
import { ClientSessions, ELICITATION_COMPLETE, type Session } from './sessions.ts';
import { subscribeAgain } from './subscribe-again.ts';
import { Subscriptions } from './subscriptions.ts';
import { GatewayTasks, TASK_STATUS } from './tasks.ts';
import { type OpenFor, Upstreams } from './upstreams.ts';

/** Together with the time that a process has to end by itself, shorter than a stop of the service may take. */
const FINISH_MS = 3000;

type ClientRequest = Pick<
  Call<unknown, unknown, unknown>,
  'method' | 'ip' | 'userAgent' | 'header' | 'bytes' | 'onAbort'
>;

interface Parts {
  readonly server: GatewayServer;
  readonly endpoint: string;
  readonly legate: GuardingLegate;
  readonly origins: ReadonlySet<string>;
  readonly record: RecordCall;
  readonly pins: Pins;
  readonly lists: PermittedLists;
  readonly openFor: OpenFor;
  readonly failed: (problem: string) => void;
}

/**
 * The endpoint of one configured server. The guard checks the token, decides and records; permitted requests are sent
 * to the server over a separate connection, without the token and the ids of the client.
 */
export class Relay {
  readonly server: GatewayServer;
  readonly endpoint: string;
  readonly tools: ApprovedTools;
  readonly upstreams: Upstreams;
  readonly tasks: GatewayTasks;
  readonly #parts: Parts;
  readonly #guard: Guard;
  readonly #sessions = new ClientSessions();
  readonly #subscriptions: Subscriptions;
  readonly #requests: Requests;
  readonly #inForce = new InForce();
  #isFinishing = false;

  constructor(parts: Parts) {
    const { server, endpoint, legate } = parts;
    this.#parts = parts;
    this.server = server;
    this.endpoint = endpoint;
    this.tools = new ApprovedTools(server, parts.pins);
    this.#guard = new Guard({
      legate,
      server: { name: server.name, endpoint },
      action: (tool) => {
        const { actions } = server.legate;
        return (Object.hasOwn(actions, tool) && !isReservedName(tool) ? actions[tool] : undefined) ?? 'execute';
      },
      cors: false,
    });
    this.upstreams = new Upstreams(server, parts.openFor, {
      listed: (key, tools) => this.tools.listed(key, tools),
      notified: (key, method, params, client) => this.#notified(key, method, params, client),
      opened: (key) => void subscribeAgain(this.upstreams, this.#sessions, key),
      ended: (key) => this.#ended(key),
      failed: parts.failed,
    });
    this.#subscriptions = new Subscriptions(this.upstreams, this.#sessions);
    this.tasks = new GatewayTasks(this.upstreams, parts.record);
    this.#requests = new Requests({
      ...parts,
      ...{ tools: this.tools, tasks: this.tasks, upstreams: this.upstreams },
      ...{ sessions: this.#sessions, subscriptions: this.#subscriptions, inForce: this.#inForce },
      keyOf: (auth, sessionId) => this.#keyOf(auth, sessionId),
    });
  }

  async answer(request: ClientRequest): Promise<ClientAnswer> {
    const { method, ip, userAgent } = request;
    const header = (name: string): string | null => request.header(name);
    const origin = header('origin');
    if (origin !== null && !this.#parts.origins.has(origin))
      return rpcError(403, { code: REFUSED, message: 'Requests from this origin are not accepted.' });
    let body: unknown = null;
    const closed = new Ending();
    request.onAbort(() => closed.end());
    const verdict = await this.#guard.judge({
      method,
      header,
      origin: { ip: ip ?? undefined, userAgent: userAgent ?? undefined },
      body: () => {
        // Only the body of POST is a message. A decision about another one would be of a call that does not follow.
        if (method !== 'POST') return null;
        assertJson(header);
        const parse = (bytes: Uint8Array): { parsed: unknown } => {
          body = parseBody(bytes);
          assertForm(header, body);
          return { parsed: body };
        };
        const bytes = bytesOf(request, this.#guard.maxBodyBytes);
        return bytes instanceof Promise ? bytes.then(parse) : parse(bytes);
      },
      isGone: () => closed.isEnded,
      continues: (auth, ask) => this.#requests.continues(auth, ask),
      prepare: (auth) => this.#prepare(auth, body, header('mcp-session-id')),
    });
    if ('answer' in verdict) {
      this.#requests.refused(body);
      return verdict.answer;
    }
    // This revision has no sessions to listen to or to end.
    if (method !== 'POST' && header('mcp-protocol-version') === MODERN_REVISION)
      return rpcError(405, METHOD_NOT_ALLOWED, null, { allow: 'POST' });
    const { passed } = verdict;
    const auth = passed.auth as McpAuth;
    const sessionId = header('mcp-session-id');
    const session = sessionId === null ? undefined : this.#sessions.find(auth, sessionId);
    if (sessionId !== null && !session) return rpcError(404, SESSION_NOT_FOUND);
    if (method === 'POST') return await this.#post(request, body, passed, auth, session, closed);
    if (!session) return rpcError(400, { code: INVALID_REQUEST, message: 'Mcp-Session-Id is required.' });
    return method === 'GET' ? this.#listen(passed, auth, session) : this.#endSession(session);
  }

  /** Ends the streams of clients. Ends connections when they are no longer in use, after 3 s at the latest. */
  finish(): void {
    this.#isFinishing = true;
    this.#sessions.endStreams();
    this.upstreams.finish();
    setTimeout(() => void this.stop(), FINISH_MS).unref();
  }

  /** Ends streams and connections. */
  async stop(): Promise<void> {
    this.#requests.stop();
    this.#sessions.clear();
    this.#inForce.stop();
    await this.upstreams.stop();
  }

  /** Ends connections that are not in use. */
  endIdle(): void {
    this.upstreams.endIdle((key) => this.#sessions.isHeard(key));
  }

  /** The people who have streams or connections of their own. */
  people(): ReadonlySet<string> {
    return new Set([...this.upstreams.people(), ...this.#inForce.people()]);
  }

  /** The agents whose clients receive notifications on an open stream. */
  agents(): ReadonlySet<Id<'agent'>> {
    return this.#sessions.agents();
  }

  /** Handles changed permissions of an agent: its clients are notified that their lists have changed. */
  async announceLists(agent: Id<'agent'>): Promise<void> {
    await this.#inForce.endRevoked(agent);
    for (const { key, lost } of await this.#sessions.narrow(agent)) void this.#subscriptions.end(key, lost);
    this.#sessions.announceLists(agent);
  }

  /** Ends the streams and connections of a person at once. */
  async endPerson(person: string): Promise<void> {
    this.#inForce.endStreams(person);
    await this.upstreams.endPerson(person);
  }

  #keyOf(auth: McpAuth, sessionId: string | null): string {
    const { isolation } = this.server.legate;
    if (isolation === 'shared') return '';
    return isolation === 'session' ? `${auth.userId} ${sessionId ?? callerOf(auth)}` : auth.userId;
  }

  /** Before a tool call is decided, the gateway must know whether the server has the tool. */
  #prepare(auth: McpAuth, body: unknown, sessionId: string | null): Promise<void> | undefined {
    const session = sessionId === null ? undefined : this.#sessions.find(auth, sessionId);
    // A call in a session that has ended is not carried out, so it is not decided.
    if (sessionId !== null && !session && body !== null) throw new SessionNotFound(body);
    if (!messagesOf(body).some(({ method }) => method === 'tools/call')) return undefined;
    const key = session?.key ?? this.#keyOf(auth, null);
    return this.upstreams.isReady(key) && this.tools.definitions.has(key) ? undefined : this.#open(auth, key);
  }

  async #open(auth: McpAuth, key: string): Promise<void> {
    // No connection is opened for a remembered token that has ended since.
    if (!this.upstreams.has(key) && !(await this.#isValid(auth))) return;
    try {
      await this.upstreams.info(key);
      if (!this.tools.definitions.has(key)) await this.upstreams.tools(key);
    } catch {
      // The call is still decided and recorded, and reports this failure.
    }
  }

  async #isValid({ token }: McpAuth): Promise<boolean> {
    return (await this.#parts.legate.mcp.validateToken(token, { audience: this.endpoint })).valid;
  }

  async #post(
    request: ClientRequest,
    body: unknown,
    passed: Passed,
    auth: McpAuth,
    session: Session | undefined,
    closed: Ending,
  ): Promise<ClientAnswer> {
    const messages = messagesOf(body);
    const isModern = messages.some((message) => revisionOf(message) !== undefined);
    const [only] = messages;
    const id = only && idOf(only);
    if (isModern && messages.length === 1 && only?.['method'] === 'subscriptions/listen' && id !== undefined)
      return this.#subscribe(closed, passed, auth, session?.key ?? this.#keyOf(auth, null), id, paramsOf(only));
    const revoked = new Ending();
    const done = this.#inForce.add('request', passed, () => revoked.end());
    revoked.onEnd(() => closed.end());
    const headers: Record<string, string> = {};
    const accepts = request.header('accept')?.includes('text/event-stream') === true;
    let stream: EventStream | undefined;
    let begin = (_first: EventStream | Message[]): void => {};
    let fail = (_error: unknown): void => {};
    const beginning = new Promise<EventStream | Message[]>((resolve, reject) => {
      begin = resolve;
      fail = reject;
    });
    const opened = (): EventStream | undefined => {
      if (!accepts || closed.isEnded) return undefined;
      stream ??= this.#stream(passed, () => closed.end());
      begin(stream);
      return stream;
    };
    const context: Context = {
      auth,
      passed,
      session,
      key: session?.key ?? this.#keyOf(auth, null),
      isModern,
      closed,
      revoked,
      stream: () => opened() !== undefined,
      send: (message) => {
        const open = opened();
        open?.send(message);
        return open !== undefined;
      },
      headers,
    };
    const work =
      only && messages.length === 1
        ? this.#requests.answer(context, only)
        : Promise.all(messages.map((message) => this.#requests.answer(context, message))).then((all) => all.flat());
    work.then(begin, fail).finally(done);
    // The answer becomes a stream only if another message precedes it.
    const answers = await beginning;
    if (answers instanceof EventStream) {
      void work.then(
        (late) => {
          for (const answer of late) answers.send(answer);
          answers.end();
        },
        () => answers.end(),
      );
      return eventStream(answers);
    }
    if (answers.length === 0) return { status: 202 };
    const [first] = answers as [Message];
    // A list is cut after its result was serialised.
    const textOf = passed.rules?.cut ? JSON.stringify : answerText;
    const text = Array.isArray(body) ? JSON.stringify(answers) : textOf(first);
    return { status: statusOf(answers, isModern), body: text, ...(Object.keys(headers).length > 0 && { headers }) };
  }

  /** Announces that the list of tools has changed, to everyone or to those who use one connection. */
  announceTools(key?: string): void {
    this.#sessions.notify(key, 'notifications/tools/list_changed', {});
  }

  #notified(key: string, method: string, params: Message, client: object | undefined): void {
    if (method === TASK_STATUS) this.tasks.notified(key, params);
    if (method === ELICITATION_COMPLETE) this.#sessions.completed(key, params, client);
    if (!NOTIFICATIONS.has(method)) return;
    if (method === 'notifications/message' && this.server.legate.isolation === 'shared') return;
    this.#sessions.notify(key, method, params, client);
  }

  /** Answers `subscriptions/listen` (MCP 2026-07-28). The guard has decided about each resource. */
  async #subscribe(
    closed: Ending,
    passed: Passed,
    auth: McpAuth,
    key: string,
    id: string | number,
    params: Message,
  ): Promise<ClientAnswer> {
    if (this.#isFinishing) return rpcError(503, STOPPING, id);
    const asked = filterOf(params);
    if (!asked) return rpcError(200, { code: INVALID_PARAMS, message: '`notifications` is missing or malformed.' }, id);
    try {
      const info = await this.upstreams.info(key);
      const { resourceSubscriptions: uris = [], ...others } = honoured(asked, info);
      await this.#parts.lists.opened(agentOf(auth));
      const answer = await this.#subscriptions.beginning(key, uris, async () => {
        const { refused, hold } = await this.#subscriptions.subscribe(key, uris);
        // Nothing is awaited between this and the listener, which ends with the connection.
        const heard = uris.filter((uri) => !refused.has(uri));
        if (!hold.isOpen || heard.length === 0) hold.release();
        if (!hold.isOpen) throw new ServerUnavailable('the connection ended');
        const stream = this.#stream(passed, () => {
          this.#sessions.listeners.delete(listener);
          if (heard.length > 0) hold.release();
          void this.#subscriptions.end(key, heard);
        });
        const rest = { ...others, ...(heard.length > 0 && { resourceSubscriptions: heard }) };
        const own = { key, agent: agentOf(auth), filter: rest, permitted: passed.rules?.permitted };
        const listener: Listener = new Listener(own, id, stream);
        this.#sessions.listeners.add(listener);
        // The permission may have ended while the server was asked.
        void listener.narrow().then((lost) => this.#subscriptions.end(key, lost));
        if (listener.isEmpty) listener.end(info.serverInfo);
        return stream;
      });
      closed.onEnd(() => answer.end());
      return eventStream(answer);
    } catch (error) {
      const answer = { jsonrpc: '2.0', id, ...failureAnswer('subscriptions/listen', error, undefined) };
      return { status: statusOf([answer], true), body: JSON.stringify(answer) };
    }
  }

  /** Clients that listen to resources of an ended connection have to listen again. */
  #ended(key: string): void {
    this.#sessions.forgetElicitations(key);
    this.tasks.ended(key);
    for (const listener of [...this.#sessions.listeners])
      if (listener.key === key && listener.filter.resourceSubscriptions) listener.end();
  }

  async #listen(passed: Passed, auth: McpAuth, session: Session): Promise<ClientAnswer> {
    await this.#parts.lists.opened(agentOf(auth));
    session.permitted = passed.rules?.permitted;
    void this.#subscriptions.end(session.key, await session.narrow());
    if (this.#isFinishing) return rpcError(503, STOPPING);
    if (this.#sessions.find(auth, session.id) !== session) return rpcError(404, SESSION_NOT_FOUND);
    const stream = this.#stream(passed, () => {
      session.streams.delete(stream);
      detach?.();
    });
    const detach = passed.rules?.attach?.((event) => stream.write(event));
    session.streams.add(stream);
    return eventStream(stream);
  }

  async #endSession(session: Session): Promise<ClientAnswer> {
    this.#sessions.end(session.id);
    void this.#subscriptions.end(session.key, [...session.subscriptions]);
    if (this.server.legate.isolation === 'session') await this.upstreams.end(session.key);
    return { status: 204 };
  }

  /** Opens a stream that ends within a second after the token was revoked. */
  #stream(passed: Passed, onEnd: () => void): EventStream {
    const stream: EventStream = new EventStream(() => {
      done();
      onEnd();
    });
    const done = this.#inForce.add('stream', passed, () => stream.end());
    return stream;
  }
}
