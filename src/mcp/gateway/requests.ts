import type { Ask } from '../guard/asks.ts';
import type { Decided } from '../guard/calls.ts';
import type { Passed } from '../guard/guard.ts';
import type { Decision, GuardingLegate, McpAuth } from '../guard/guard-options.ts';
import {
  declaredCapabilities,
  hasUrlElicitation,
  idOf,
  isMessageId,
  isObject,
  type Message,
  messagesOf,
  paramsOf,
  revisionOf,
} from '../guard/json-rpc.ts';
import { RequestStates, stateKeys } from '../guard/request-state.ts';
import { mayMakeTask } from '../guard/tasks.ts';
import { NO_URI, NOT_HEARD, notFound, tokenRevoked } from './answers.ts';
import { callerOf } from './caller-of.ts';
import { CallInTurns, type Continued, type Parked, ParkedCalls } from './calls-in-turns.ts';
import { CANNOT_ANSWER, capabilitiesForServer, inputOf } from './client-requests.ts';
import { Ending } from './ending.ts';
import { type Forwarded, forward, type Reply, unanswered } from './forward.ts';
import type { InForce } from './in-force.ts';
import { infoOrNotConnected } from './info-for-client.ts';
import { INITIALIZE_REVISION } from './list-tools.ts';
import { capabilitiesForClient } from './listening.ts';
import { unreadable } from './lists/readable.ts';
import {
  failureAnswer,
  INITIALIZE_REVISIONS,
  InputRequired,
  MODERN_REVISION,
  OUTCOMES,
  progressMessage,
  progressTokenOf,
  resultForClient,
} from './messages.ts';
import { isPassedOn, isPassedOnAnyway } from './methods.ts';
import { OutcomeUnknown, type Party } from './peer.ts';
import type { ApprovedTools } from './pins/approved-tools.ts';
import type { RecordCall } from './record-call.ts';
import type { GatewayServer } from './servers-file.ts';
import { type ClientSessions, newSessionId, type Session } from './sessions.ts';
import type { Subscriptions } from './subscriptions.ts';
import { answerTaskRequest } from './task-requests.ts';
import { type GatewayTasks, tasksBetween } from './tasks.ts';
import type { Upstreams } from './upstreams.ts';

const SLOW_MS = 1000;
/** Maximum number of requests of a server during one call. Further ones get no answer. */
const MAX_ROUNDS = 10;
const MAX_SUBSCRIPTIONS = 1000;
const TOO_MANY_WAIT = 'The server asked for input, but too many calls wait for input already.';
const URL_ERRORS_SINCE = '2025-11-25';
/** Methods whose answer may ask the client for input (MCP 2026-07-28). */
const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

interface Parts {
  readonly server: GatewayServer;
  readonly endpoint: string;
  readonly legate: GuardingLegate;
  readonly tools: ApprovedTools;
  readonly upstreams: Upstreams;
  readonly sessions: ClientSessions;
  readonly subscriptions: Subscriptions;
  readonly record: RecordCall;
  readonly tasks: GatewayTasks;
  readonly inForce: InForce;
  readonly keyOf: (auth: McpAuth, sessionId: string | null) => string;
}

/** The circumstances of the messages of one HTTP request. */
export interface Context {
  readonly auth: McpAuth;
  readonly passed: Passed;
  readonly session: Session | undefined;
  readonly key: string;
  readonly isModern: boolean;
  /** Fires when the client closes the response. */
  readonly closed: Ending;
  /** Fires when the token was revoked. */
  readonly revoked: Ending;
  /** Begins the response as a stream. Returns false if the client does not accept one. */
  readonly stream: () => boolean;
  /** Sends a message before the answers. Returns false if the client does not accept a stream. */
  readonly send: (message: Message) => boolean;
  /** Headers that are added to the answer. */
  readonly headers: Record<string, string>;
}

/** A request of a client. */
interface Asked {
  readonly method: string;
  readonly message: Message;
  /** Fires when the client cancels the request, in revisions before 2026-07-28. */
  readonly cancelling: Ending;
}

/** Two messages of a batch may have the same id, so it does not identify a decision. */
const decidedOf = ({ decided }: Passed, message: Message): Decided | undefined =>
  decided.find(({ ask }) => ask.message === message);

/** Answers the messages of clients that the guard lets pass. */
export class Requests {
  readonly #parts: Parts;
  readonly #states: RequestStates<Continued>;
  readonly #continued = new WeakMap<Message, Continued>();
  readonly #parked = new ParkedCalls<Parked<Forwarded>>();

  constructor(parts: Parts) {
    this.#parts = parts;
    const { legate, server, endpoint } = parts;
    this.#states = new RequestStates(stateKeys({ legate, server: { name: server.name, endpoint } }), endpoint, 'input');
  }

  stop(): void {
    this.#parked.clear();
  }

  /** Recognises the repetition of a call whose server asked for input, which is not decided a second time. */
  continues(auth: McpAuth, { message }: Ask): Decision | 'invalid' | undefined {
    const { requestState } = paramsOf(message);
    // In earlier revisions, no call is continued, so such a call is a new one.
    if (revisionOf(message) === undefined || !this.#states.isOurs(requestState)) return undefined;
    const continued = this.#states.take(auth, message, requestState);
    if (!continued) return 'invalid';
    this.#continued.set(message, continued);
    return { allowed: true, ...(continued.auditId !== undefined && { auditId: continued.auditId }) };
  }

  /** Cancels the calls that the messages of a refused body were to continue. */
  refused(body: unknown): void {
    for (const message of messagesOf(body)) this.#parked.take(this.#continued.get(message)?.parked)?.cancel();
  }

  /** Returns the answer to one message, or none. */
  async answer(context: Context, message: Message): Promise<Message[]> {
    const { session } = context;
    const { method } = message;
    const id = idOf(message);
    if (typeof method !== 'string') {
      session?.answered(message);
      return [];
    }
    if (id === undefined) {
      this.#notified(context, method, paramsOf(message));
      return [];
    }
    const begun = performance.now();
    const cancelling = new Ending();
    const asked: Asked = { method, message, cancelling };
    session?.running.set(id, cancelling);
    context.revoked.onEnd(() => cancelling.end());
    let reply: Reply;
    try {
      reply = await (isPassedOnAnyway(method) ? this.#relay(context, asked) : this.#reply(context, asked));
    } catch (error) {
      // Only the outcome of a tool call is recorded.
      reply = failureAnswer(method, error, undefined);
    } finally {
      if (session?.running.get(id) === cancelling) session.running.delete(id);
    }
    const { rules } = context.passed;
    const isSlow = performance.now() - begun > SLOW_MS;
    if (context.revoked.isEnded || (isSlow && rules && !(await rules.alive()))) return [tokenRevoked(id)];
    // A cancelled request is not answered, but an HTTP request is. A stream ends without an answer.
    if (cancelling.isEnded && context.stream()) return [];
    const answer: Message = { jsonrpc: '2.0', id, ...reply };
    rules?.note?.(answer);
    if (rules?.cut) await rules.cut(answer);
    return [answer];
  }

  #notified({ session }: Context, method: string, params: Message): void {
    if (!session) return;
    const { requestId } = params;
    if (method === 'notifications/cancelled' && isMessageId(requestId)) session.running.get(requestId)?.end();
    const { roots, isolation } = this.#parts.server.legate;
    if (method === 'notifications/roots/list_changed' && roots && isolation !== 'shared')
      this.#parts.upstreams.notify(session.key, method);
  }

  async #reply(context: Context, asked: Asked): Promise<Reply> {
    const { method, message } = asked;
    const { isModern, key, session } = context;
    const { upstreams, tools, server } = this.#parts;
    const params = paramsOf(message);
    if (isModern ? method === 'server/discover' : method === 'initialize') return this.#introduce(context, params);
    if (method === 'tools/list') {
      const permitted = tools.permitted(key, await upstreams.tools(key));
      return { result: resultForClient(method, { tools: permitted }, this.#serverInfo(context)) };
    }
    const relay = (): Promise<Reply> => this.#relay(context, asked);
    if (!isModern && method === 'ping') return { result: {} };
    if (!isPassedOn(method, isModern, (await upstreams.info(key)).revision)) return notFound(method);
    if (method.startsWith('tasks/')) return this.#task(context, asked);
    if (method.startsWith('resources/') && typeof params['uri'] !== 'string') return NO_URI;
    switch (method) {
      case 'logging/setLevel':
        // One of several people on a shared connection must not set its level.
        return server.legate.isolation === 'shared' ? { result: {} } : relay();
      case 'resources/subscribe':
        return this.#subscribe(context, String(params['uri']), relay);
      case 'resources/unsubscribe':
        if (session?.subscriptions.delete(String(params['uri'])))
          await this.#parts.subscriptions.end(key, [String(params['uri'])]);
        return { result: {} };
      default:
        return notFound(method);
    }
  }

  /** Answers `initialize` and `server/discover`. */
  async #introduce(context: Context, params: Message): Promise<Reply> {
    const { auth, isModern, headers, passed } = context;
    const { protocolVersion } = params;
    const sessionId = newSessionId();
    const key = isModern ? context.key : this.#parts.keyOf(auth, sessionId);
    const info = await infoOrNotConnected(this.#parts, key);
    const { serverInfo, instructions } = info;
    const revision = isModern
      ? MODERN_REVISION
      : (INITIALIZE_REVISIONS.find((one) => one === protocolVersion) ?? INITIALIZE_REVISION);
    const common = {
      capabilities: capabilitiesForClient(info, revision),
      ...(instructions !== undefined && { instructions }),
    };
    if (isModern)
      return {
        result: resultForClient('server/discover', { supportedVersions: [MODERN_REVISION], ...common }, serverInfo),
      };
    const declared = isObject(params['capabilities']) ? params['capabilities'] : {};
    const given = { id: sessionId, key, capabilities: declared, revision, offered: common.capabilities };
    this.#parts.sessions.open(auth, given);
    passed.bindSession(sessionId);
    headers['mcp-session-id'] = sessionId;
    return { result: { protocolVersion: revision, serverInfo, ...common } };
  }

  /** A client of an earlier revision listens on the stream of its session. */
  async #subscribe({ key, session, passed }: Context, uri: string, relay: () => Promise<Reply>): Promise<Reply> {
    if (session && session.subscriptions.size >= MAX_SUBSCRIPTIONS) return NOT_HEARD;
    const { upstreams, subscriptions } = this.#parts;
    const { revision } = await upstreams.info(key);
    const hear = async (): Promise<Reply> => {
      if (!session) return NOT_HEARD;
      const { refused, hold } = await subscriptions.subscribe(key, [uri]);
      hold.release();
      return refused.has(uri) ? NOT_HEARD : { result: {} };
    };
    const reply = await subscriptions.beginning(key, [uri], async () => {
      const heard = await (revision === MODERN_REVISION ? hear() : relay());
      if ('result' in heard) session?.subscriptions.add(uri);
      return heard;
    });
    // The permission may have ended while the server was asked.
    const lost = await unreadable('result' in reply ? [uri] : [], passed.rules?.permitted);
    for (const one of lost) session?.subscriptions.delete(one);
    // So may the session.
    if ('result' in reply) await subscriptions.end(key, [uri]);
    return reply;
  }

  async #task(context: Context, asked: Asked): Promise<Reply> {
    const { session, closed, key } = context;
    const { method, cancelling } = asked;
    const { auth, params, revision, capabilities, mayMakeTask: declares } = this.#forwarding(context, asked);
    const reply = await answerTaskRequest(this.#parts, {
      ...{ auth, method, params, capabilities, declares },
      form: tasksBetween(await this.#parts.upstreams.info(key), revision),
      signal: session ? cancelling : closed,
      party: this.#partyOf(context),
    });
    if ('error' in reply) return reply;
    return { result: resultForClient(method, reply.result, this.#serverInfo(context)) };
  }

  /** Requests to the client are sent on the response, or on the stream of its session. */
  #partyOf(context: Context): Party {
    const { session, closed } = context;
    return {
      client: session ?? context,
      ask: async (asked) =>
        session ? session.ask({ ...asked, signal: Ending.any([asked.signal, closed]) }, context.send) : CANNOT_ANSWER,
    };
  }

  /** Forwards a request to the server. */
  async #relay(context: Context, asked: Asked): Promise<Reply> {
    const forwarded = context.isModern
      ? await this.#relayInTurns(context, asked)
      : await this.#relayInSession(context, asked);
    if ('result' in forwarded || 'error' in forwarded) return forwarded;
    if ('failure' in forwarded) return forwarded.failure;
    if ('input' in forwarded) {
      const { requests, repeat, call } = forwarded.input;
      const cancel = (): void => call && this.#parts.record({ ...call, outcome: OUTCOMES.INPUT_REQUIRED });
      return this.#inputRequired(context, asked, requests, { repeat, cancel });
    }
    const { answer } = forwarded;
    if ('error' in answer) return { error: context.session?.errorFor(answer.error) ?? answer.error };
    const serverInfo = this.#serverInfo(context);
    return { result: resultForClient(asked.method, answer.result, serverInfo) };
  }

  async #relayInSession(context: Context, asked: Asked): Promise<Forwarded> {
    const { message, cancelling } = asked;
    const party = this.#partyOf(context);
    const progress = this.#progressTo(context, message);
    const request = { cancelling, progress, party, ...this.#forwarding(context, asked) };
    let forwarded = await forward(this.#parts, request);
    for (let round = 0; 'input' in forwarded; round++) {
      const { requests, repeat } = forwarded.input;
      const inputResponses = round < MAX_ROUNDS ? await inputOf(requests, party.ask, cancelling) : undefined;
      if (!inputResponses) return unanswered(this.#parts, request, forwarded.input);
      forwarded = await forward(this.#parts, { ...request, repetition: repeat && { ...repeat, inputResponses } });
    }
    return forwarded;
  }

  /** The answer asks the client for input, and the client repeats its request with it. */
  async #relayInTurns(context: Context, asked: Asked): Promise<Forwarded | Reply> {
    const { method, message } = asked;
    const continued = this.#continued.get(message);
    const parked = continued && this.#parked.take(continued.parked);
    if (continued && !parked) return failureAnswer(method, new OutcomeUnknown('it has ended'), continued.auditId);
    let call: CallInTurns<Forwarded>;
    if (parked instanceof CallInTurns) {
      call = parked;
      call.progress = this.#progressTo(context, message) ?? (() => {});
      call.answer(paramsOf(message)['inputResponses']);
    } else {
      const forwarding = this.#forwarding(context, asked);
      const { repeat } = parked ?? {};
      const repetition = repeat && { ...repeat, inputResponses: paramsOf(message)['inputResponses'] };
      const started = new CallInTurns<Forwarded>(MAY_ASK.has(method) ? forwarding.capabilities : {});
      const progress = this.#progressTo(context, message);
      if (progress) started.progress = progress;
      call = started;
      if (context.closed.isEnded) call.cancel();
      call.start(
        forward(this.#parts, {
          repetition,
          cancelling: call.cancelling,
          progress: progress && ((params) => started.progress(params)),
          party: call,
          ...forwarding,
        }),
      );
    }
    const turn = await call.turn(context.closed);
    return 'reply' in turn ? turn.reply : this.#inputRequired(context, asked, turn.inputRequests, call);
  }

  #forwarding({ auth, key, passed, session, isModern }: Context, { method, message }: Asked) {
    const declared = isModern ? declaredCapabilities(message) : (session?.capabilities ?? {});
    return {
      auth,
      key,
      method,
      params: paramsOf(message),
      decided: decidedOf(passed, message),
      capabilities: capabilitiesForServer(declared, this.#parts.server),
      revision: isModern ? MODERN_REVISION : session?.revision,
      mayMakeTask: mayMakeTask(message),
      notify: mayMakeTask(message) ? session?.taskNotifier(String(paramsOf(message)['name'])) : undefined,
      knowsUrlErrors: session !== undefined && session.revision >= URL_ERRORS_SINCE && hasUrlElicitation(declared),
    };
  }

  #progressTo(context: Context, message: Message): ((params: Message) => void) | undefined {
    const token = progressTokenOf(paramsOf(message));
    if (token === undefined) return undefined;
    return (made) => void context.send(progressMessage(token, made));
  }

  #inputRequired(
    { auth, passed }: Context,
    { method, message }: Asked,
    inputRequests: Message,
    call: Parked<Forwarded>,
  ): Reply {
    const decided = decidedOf(passed, message);
    const auditId = decided?.decision.auditId;
    const watch = (end: () => void) => this.#parts.inForce.add('request', passed, end, decided?.ask);
    const parked = this.#parked.park(call, callerOf(auth), watch);
    if (parked === undefined) return failureAnswer(method, new InputRequired(TOO_MANY_WAIT), auditId);
    const requestState = this.#states.make(auth, message, { auditId, parked });
    const asked = Object.keys(inputRequests).length > 0 && { inputRequests };
    return { result: { resultType: 'input_required', ...asked, requestState } };
  }

  /** The metadata about the server in results, for revisions that have it. No answer depends on its connection. */
  #serverInfo({ isModern, key }: Context): Message | undefined {
    return isModern ? this.#parts.upstreams.serverInfo(key) : undefined;
  }
}
