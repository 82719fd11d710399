import { Guard, type GuardedRequest, type Passed } from '../guard/guard.ts';
import type { GuardingLegate, McpAuth } from '../guard/guard-options.ts';
import { idOf, type Message, messagesOf, paramsOf, parseBody, type RpcError, revisionOf } from '../guard/json-rpc.ts';
import { readBody, respond } from '../guard/protect-web.ts';
import { REFUSED } from '../guard/refusals.ts';
import { eventStream, json, notFound, rpcError, statusOf } from './answers.ts';
import { EventStream } from './event-stream.ts';
import { INITIALIZE_REVISION, type ServerInfo } from './list-tools.ts';
import {
  capabilitiesForClient,
  failureAnswer,
  failureOf,
  INITIALIZE_REVISIONS,
  INVALID_REQUEST,
  MODERN_REVISION,
  NO_SESSION,
  NOTIFICATIONS,
  OUTCOMES,
  paramsForServer,
  progressTokenOf,
  RELAYED,
  REVISIONS,
  resultForClient,
  UNSUPPORTED_REVISION,
} from './messages.ts';
import { NotConnected } from './peer.ts';
import { ApprovedTools } from './pins/approved-tools.ts';
import type { Pins } from './pins/pins.ts';
import type { RecordCall } from './record-call.ts';
import type { GatewayServer } from './servers-file.ts';
import { ClientSessions, callerOf, newSessionId, type Session } from './sessions.ts';
import { type OpenFor, Upstreams } from './upstreams.ts';

const CHECK_STREAMS_MS = 500;
const SLOW_MS = 1000;

interface Parts {
  readonly server: GatewayServer;
  readonly endpoint: string;
  readonly legate: GuardingLegate;
  readonly origins: ReadonlySet<string>;
  readonly record: RecordCall;
  readonly pins: Pins;
  readonly openFor: OpenFor;
}

interface Context {
  readonly auth: McpAuth;
  readonly passed: Passed;
  readonly session: Session | undefined;
  readonly key: string;
  readonly isModern: boolean;
  /** Ends when the client of a revision without sessions closes the response. */
  readonly signal: AbortSignal | undefined;
  readonly progress: (message: Message) => void;
  /** Headers to add to the answer. */
  readonly headers: Record<string, string>;
}

type Reply = { readonly result: Message } | { readonly error: RpcError };

/**
 * One configured server as clients reach it. The guard checks the token, decides and records; what it lets pass is sent
 * on to the server over a connection of its own, which has neither the token nor the ids of the client.
 */
export class Relay {
  readonly server: GatewayServer;
  readonly endpoint: string;
  readonly tools: ApprovedTools;
  readonly upstreams: Upstreams;
  readonly #parts: Parts;
  readonly #guard: Guard;
  readonly #sessions = new ClientSessions();
  /** The open streams, each with the person it belongs to. */
  readonly #streams = new Map<EventStream, string | undefined>();
  #watch: NodeJS.Timeout | undefined;

  constructor(parts: Parts) {
    const { server, endpoint, legate } = parts;
    this.#parts = parts;
    this.server = server;
    this.endpoint = endpoint;
    this.tools = new ApprovedTools(server, parts.pins);
    this.#guard = new Guard({
      legate,
      server: { name: server.name, endpoint },
      action: (tool) =>
        (Object.hasOwn(server.legate.actions, tool) ? server.legate.actions[tool] : undefined) ?? 'execute',
      cors: false,
    });
    this.upstreams = new Upstreams(server, parts.openFor, {
      listed: (key, tools) => this.tools.listed(key, tools),
      notified: (key, method, params) => this.#notified(key, method, params),
    });
  }

  async answer(request: Request, from: GuardedRequest['origin']): Promise<Response> {
    const origin = request.headers.get('origin');
    if (origin !== null && !this.#parts.origins.has(origin))
      return rpcError(403, { code: REFUSED, message: 'Requests from this origin are not accepted.' });
    const header = (name: string): string | null => request.headers.get(name);
    let body: unknown = null;
    const verdict = await this.#guard.judge({
      method: request.method,
      header,
      origin: from,
      body: async () => {
        const read = await readBody(this.#guard, request, undefined);
        if (!read) return null;
        body = parseBody(read.bytes);
        return { parsed: body };
      },
      prepare: (auth) => this.#prepare(auth, body, header('mcp-session-id')),
    });
    if ('answer' in verdict) return respond(verdict.answer);
    const { passed } = verdict;
    const auth = passed.auth as McpAuth;
    const sessionId = header('mcp-session-id');
    const session = sessionId === null ? undefined : this.#sessions.find(auth, sessionId);
    if (sessionId !== null && !session) return rpcError(404, { code: NO_SESSION, message: 'Session not found' });
    if (request.method === 'GET') return this.#listen(passed, session);
    if (request.method === 'DELETE') return this.#endSession(session);
    return this.#post(request, body, passed, auth, session);
  }

  /** Ends streams and connections. */
  async stop(): Promise<void> {
    clearInterval(this.#watch);
    this.#sessions.clear();
    for (const stream of this.#streams.keys()) stream.end();
    await this.upstreams.stop();
  }

  /** The people who have streams or connections of their own. */
  people(): ReadonlySet<string> {
    const ofStreams = [...this.#streams.values()].filter((person) => person !== undefined);
    return new Set([...this.upstreams.people(), ...ofStreams]);
  }

  /** Ends the streams and connections of a person at once. */
  async endPerson(person: string): Promise<void> {
    for (const [stream, owner] of this.#streams) if (owner === person) stream.end();
    await this.upstreams.endPerson(person);
  }

  #keyOf(auth: McpAuth, sessionId: string | null): string {
    const { isolation } = this.server.legate;
    if (isolation === 'shared') return '';
    return isolation === 'session' ? `${auth.userId} ${sessionId ?? callerOf(auth)}` : auth.userId;
  }

  /** Before a tool call is decided, it has to be known whether the server has such a tool. */
  async #prepare(auth: McpAuth, body: unknown, sessionId: string | null): Promise<void> {
    if (!messagesOf(body).some(({ method }) => method === 'tools/call')) return;
    const key = sessionId === null ? this.#keyOf(auth, null) : (this.#sessions.find(auth, sessionId)?.key ?? '');
    if (sessionId !== null && !this.#sessions.find(auth, sessionId)) return;
    // Without the server the call is decided and recorded all the same, and then fails.
    await this.upstreams.info(key).catch(() => {});
  }

  async #post(
    request: Request,
    body: unknown,
    passed: Passed,
    auth: McpAuth,
    session: Session | undefined,
  ): Promise<Response> {
    const messages = messagesOf(body);
    if (messages.length === 0)
      return rpcError(400, { code: INVALID_REQUEST, message: 'The body is not a JSON-RPC message.' });
    const revisions = [request.headers.get('mcp-protocol-version'), ...messages.map(revisionOf)];
    const requested = revisions.find((one) => typeof one === 'string' && !REVISIONS.includes(one));
    if (requested !== undefined) {
      const data = { supported: REVISIONS, requested };
      const [first] = messages;
      const error = { code: UNSUPPORTED_REVISION, message: 'This protocol revision is not supported.', data };
      return rpcError(400, error, first && idOf(first));
    }
    const isModern = messages.some((message) => revisionOf(message) !== undefined);
    const closed = new AbortController();
    const headers: Record<string, string> = {};
    let stream: EventStream | undefined;
    const context: Context = {
      auth,
      passed,
      session,
      key: session?.key ?? this.#keyOf(auth, null),
      isModern,
      signal: isModern ? closed.signal : undefined,
      progress: (message) => stream?.send(message),
      headers,
    };
    const work = async (): Promise<Message[]> =>
      (await Promise.all(messages.map((message) => this.#message(context, message)))).flat();
    const wantsProgress =
      messages.some((message) => progressTokenOf(paramsOf(message)) !== undefined) &&
      request.headers.get('accept')?.includes('text/event-stream') === true;
    if (!wantsProgress) {
      request.signal.addEventListener('abort', () => closed.abort(), { once: true });
      const answers = await work();
      if (answers.length === 0) return new Response(null, { status: 202 });
      return json(statusOf(answers, isModern), Array.isArray(body) ? answers : answers[0], headers);
    }
    stream = this.#stream(passed, (byClient) => byClient && closed.abort());
    const open = stream;
    void work().then(
      (answers) => {
        for (const answer of answers) open.send(answer);
        open.end();
      },
      () => open.end(),
    );
    return eventStream(open);
  }

  /** Returns the answer to one message, or none. */
  async #message(context: Context, message: Message): Promise<Message[]> {
    const { method } = message;
    const id = idOf(message);
    const params = paramsOf(message);
    if (typeof method !== 'string') return [];
    if (id === undefined) {
      if (method === 'notifications/cancelled') context.session?.running.get(params['requestId'])?.abort();
      return [];
    }
    const begun = performance.now();
    let reply: Reply;
    try {
      reply = await this.#reply(context, method, id, params);
    } catch (error) {
      // Without a tool call there is no record of the outcome.
      reply = failureAnswer(method, error, undefined);
    }
    const answer: Message = { jsonrpc: '2.0', id, ...reply };
    const { rules } = context.passed;
    await rules?.cut?.(answer);
    if (performance.now() - begun > SLOW_MS && rules && !(await rules.alive()))
      return [{ jsonrpc: '2.0', id, error: { code: REFUSED, message: 'The token was revoked during the call.' } }];
    return [answer];
  }

  async #reply(context: Context, method: string, id: string | number, params: Message): Promise<Reply> {
    const { isModern, key, session } = context;
    if (isModern ? method === 'server/discover' : method === 'initialize') return this.#introduce(context, params);
    if (method === 'tools/list') {
      const tools = this.tools.permitted(key, await this.upstreams.tools(key));
      return { result: resultForClient(method, { tools }, await this.#serverInfo(context)) };
    }
    if (RELAYED.has(method)) return this.#relay(context, method, id, params);
    if (isModern) return notFound(method);
    switch (method) {
      case 'ping':
        return { result: {} };
      case 'logging/setLevel':
        // The level of a connection that several people use is not for one of them to set.
        return this.server.legate.isolation === 'shared' ? { result: {} } : this.#relay(context, method, id, params);
      case 'resources/subscribe': {
        const reply = await this.#relay(context, method, id, params);
        if ('result' in reply) session?.subscriptions.add(String(params['uri']));
        return reply;
      }
      case 'resources/unsubscribe': {
        session?.subscriptions.delete(String(params['uri']));
        if (this.#sessions.isSubscribed(key, String(params['uri']))) return { result: {} };
        return this.#relay(context, method, id, params);
      }
      default:
        return notFound(method);
    }
  }

  /** Answers `initialize` and `server/discover`. */
  async #introduce(context: Context, { protocolVersion }: Message): Promise<Reply> {
    const { auth, isModern, headers, passed } = context;
    const sessionId = newSessionId();
    const key = isModern ? context.key : this.#keyOf(auth, sessionId);
    const { capabilities, serverInfo, instructions } = await this.#infoOrNotConnected(key);
    const common = {
      capabilities: capabilitiesForClient(capabilities, isModern),
      ...(instructions !== undefined && { instructions }),
    };
    if (isModern)
      return {
        result: resultForClient('server/discover', { supportedVersions: [MODERN_REVISION], ...common }, serverInfo),
      };
    this.#sessions.open(auth, sessionId, key);
    passed.bindSession(sessionId);
    headers['mcp-session-id'] = sessionId;
    const revision = INITIALIZE_REVISIONS.find((one) => one === protocolVersion) ?? INITIALIZE_REVISION;
    return { result: { protocolVersion: revision, serverInfo, ...common } };
  }

  /** Sends a request on to the server, and records the outcome of a tool call. */
  async #relay(context: Context, method: string, id: string | number, params: Message): Promise<Reply> {
    const { key, session, signal, passed, auth } = context;
    const decided = passed.decided.find(({ ask }) => ask.id === id);
    const auditId = decided?.decision.auditId;
    const cancelling = new AbortController();
    const cancel = (): void => cancelling.abort();
    signal?.addEventListener('abort', cancel, { once: true });
    session?.running.set(id, cancelling);
    const token = progressTokenOf(params);
    const progress =
      token === undefined
        ? undefined
        : (made: Message): void =>
            context.progress({
              jsonrpc: '2.0',
              method: 'notifications/progress',
              params: { ...made, progressToken: token },
            });
    const isCall = method === 'tools/call';
    const call = { auth, auditId, server: this.server.name, tool: String(params['name']), begun: performance.now() };
    let definition: string | undefined;
    try {
      if (isCall) {
        await this.upstreams.info(key);
        definition = this.tools.assertStillApproved(call.tool, key);
      }
      const answer = await this.upstreams.request(key, method, paramsForServer(params), {
        signal: cancelling.signal,
        progress,
      });
      if (isCall) this.#parts.record({ ...call, definition, answer });
      if ('error' in answer) return answer;
      return { result: resultForClient(method, answer.result, await this.#serverInfo(context)) };
    } catch (error) {
      const reason = failureOf(error);
      const outcome = cancelling.signal.aborted ? 'cancelled' : OUTCOMES[reason];
      if (isCall) this.#parts.record({ ...call, definition, outcome });
      return failureAnswer(method, error, auditId);
    } finally {
      signal?.removeEventListener('abort', cancel);
      session?.running.delete(id);
    }
  }

  /** Announces that the list of tools has changed, to everyone or to those who use one connection. */
  announceTools(key?: string): void {
    this.#sessions.notify(key, 'notifications/tools/list_changed', {});
  }

  /** A client may connect before the person has: its calls then say what the person has to do. */
  #infoOrNotConnected(key: string): Promise<ServerInfo> {
    return this.upstreams.info(key).catch((error: unknown) => {
      if (!(error instanceof NotConnected)) throw error;
      const serverInfo = { name: this.server.name, version: '' };
      return { capabilities: { tools: { listChanged: true } }, serverInfo, instructions: error.message };
    });
  }

  /** Returns what results say about the server, in revisions where they do. */
  async #serverInfo({ isModern, key }: Context): Promise<Message | undefined> {
    return isModern ? (await this.upstreams.info(key)).serverInfo : undefined;
  }

  #notified(key: string, method: string, params: Message): void {
    if (!NOTIFICATIONS.has(method)) return;
    if (method === 'notifications/message' && this.server.legate.isolation === 'shared') return;
    this.#sessions.notify(key, method, params);
  }

  #listen(passed: Passed, session: Session | undefined): Response {
    if (!session) return rpcError(400, { code: INVALID_REQUEST, message: 'Mcp-Session-Id is required.' });
    const stream = this.#stream(passed, () => {
      session.streams.delete(stream);
      detach?.();
    });
    const detach = passed.rules?.attach?.((event) => stream.write(event));
    session.streams.add(stream);
    return eventStream(stream);
  }

  async #endSession(session: Session | undefined): Promise<Response> {
    if (!session) return rpcError(400, { code: INVALID_REQUEST, message: 'Mcp-Session-Id is required.' });
    this.#sessions.end(session.id);
    if (this.server.legate.isolation === 'session') await this.upstreams.end(session.key);
    return new Response(null, { status: 204 });
  }

  /** Opens a stream that ends within a second after the token was revoked. */
  #stream({ rules, auth }: Passed, onEnd: (byClient: boolean) => void): EventStream {
    const stream: EventStream = new EventStream(rules?.alive ?? (async () => true), (byClient) => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) clearInterval(this.#watch);
      onEnd(byClient);
    });
    if (this.#streams.size === 0) this.#watch = setInterval(() => void this.#endRevoked(), CHECK_STREAMS_MS).unref();
    this.#streams.set(stream, auth?.userId);
    return stream;
  }

  async #endRevoked(): Promise<void> {
    for (const stream of this.#streams.keys()) if (!(await stream.alive().catch(() => true))) stream.end();
  }
}
