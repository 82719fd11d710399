import type { Decided } from '../guard/calls.ts';
import type { McpAuth } from '../guard/guard-options.ts';
import { hasUrlElicitation, isObject, type Message, type RpcError } from '../guard/json-rpc.ts';
import { canAnswer } from './client-requests.ts';
import type { Ending } from './ending.ts';
import {
  failureAnswer,
  failureOf,
  InputRequired,
  MISSING_CAPABILITY,
  OUTCOMES,
  paramsPassedOn,
  URL_ELICITATION_REQUIRED,
} from './messages.ts';
import type { Hold } from './on-connection.ts';
import { type Answer, MAX_ASKED, OutcomeUnknown, type Party, RequestCancelled } from './peer.ts';
import type { ApprovedTools } from './pins/approved-tools.ts';
import type { FinishedCall, RecordCall } from './record-call.ts';
import type { GatewayServer } from './servers-file.ts';
import { capabilitiesFor, type GatewayTasks, type Task, type TaskForm, taskIn, tasksBetween } from './tasks.ts';
import type { Upstreams } from './upstreams.ts';

const NOT_SUPPLIED = 'Nothing was done, because the server asks for input that this client cannot supply.';
const TOO_MANY = `Nothing was done, because the server asks for more than ${MAX_ASKED} inputs at the same time.`;

interface Parts {
  readonly server: GatewayServer;
  readonly tools: ApprovedTools;
  readonly upstreams: Upstreams;
  readonly record: RecordCall;
  readonly tasks: GatewayTasks;
}

interface Forwarding {
  readonly auth: McpAuth;
  readonly key: string;
  readonly method: string;
  readonly params: Message;
  readonly decided: Decided | undefined;
  /** The input that the server asked for, and the state that it sent with the question. */
  readonly repetition?: { readonly inputResponses?: unknown; readonly requestState?: unknown } | undefined;
  readonly cancelling: Ending;
  readonly progress: ((params: Message) => void) | undefined;
  readonly party: Party;
  /** Capabilities that the client has declared. */
  readonly capabilities: Message;
  /** Whether the client understands the error -32042. */
  readonly knowsUrlErrors: boolean;
  /** undefined: a client without a session, in a revision that has sessions. */
  readonly revision: string | undefined;
  /** Whether the client accepts a task instead of a result. */
  readonly mayMakeTask: boolean;
  /** Notifies the client of a change of its task. */
  readonly notify: Task['notify'];
}

/** The server needs input before it carries out a request. */
export interface InputNeeded {
  readonly requests: Message;
  /** Parameters that the repeated request adds, with the input. undefined: the server accepts no input. */
  readonly repeat: { readonly requestState?: unknown } | undefined;
  /** The call of a tool whose outcome is recorded if the client does not supply the input. */
  readonly call: Omit<FinishedCall, 'answer' | 'outcome'> | undefined;
}

export type Reply = { readonly result: Message } | { readonly error: RpcError };
/** The answer of a server, its failure in the form of an answer, or the input that it needs first. */
export type Forwarded = { readonly answer: Answer } | { readonly failure: Reply } | { readonly input: InputNeeded };

type TaskAnswer = { readonly result: Message };

/**
 * Sends one request on to a server. The outcome of a tool call is recorded when it is final; for a task, when the task
 * ends.
 */
export async function forward(parts: Parts, forwarding: Forwarding): Promise<Forwarded> {
  const { server, tools, upstreams, record, tasks } = parts;
  const { auth, key, method, params, decided, cancelling, progress, party, capabilities } = forwarding;
  const auditId = decided?.decision.auditId;
  const isCall = method === 'tools/call';
  const call = { auth, auditId, server: server.name, tool: String(params['name']), begun: performance.now() };
  let definition: string | undefined;
  let form: TaskForm | undefined;
  try {
    if (isCall) {
      const opening = upstreams.info(key);
      const info = opening instanceof Promise ? await opening : opening;
      if (forwarding.mayMakeTask && tasks.hasRoom(auth)) form = tasksBetween(info, forwarding.revision);
    }
    const { task } = params;
    const others = paramsPassedOn(params);
    const passedOn =
      form === 'utility' || forwarding.repetition
        ? { ...others, ...(form === 'utility' && { task }), ...forwarding.repetition }
        : others;
    const options = {
      capabilities: form ? capabilitiesFor(form, capabilities) : capabilities,
      signal: cancelling,
      progress,
      party,
    };
    const check = (): void => {
      if (isCall) definition = tools.assertStillApproved(call.tool, key);
    };
    let created: Message | undefined;
    const answered = (given: Answer, hold: () => Hold): void => {
      const made = form && 'result' in given ? taskIn(given.result, form) : undefined;
      if (!form || !made) return;
      const of = { form, key, call: { ...call, definition }, notify: forwarding.notify };
      created = { ...made, taskId: tasks.create(made, hold(), of).id };
    };
    const answer = await upstreams.request(key, method, passedOn, options, { check, ...(form && { answered }) });
    if (created)
      return { answer: { result: form === 'utility' ? { ...(answer as TaskAnswer).result, task: created } : created } };
    const input = inputOf(answer, forwarding.knowsUrlErrors);
    if (input) {
      assertAnswerable(input, capabilities);
      return { input: { ...input, call: isCall ? { definition, ...call } : undefined } };
    }
    if (isCall && 'result' in answer && answer.result['resultType'] === 'task')
      throw new OutcomeUnknown('it created a task, but the client does not accept tasks');
    if (isCall) record({ definition, answer, ...call });
    return { answer };
  } catch (error) {
    const failure = cancelling.isEnded ? new RequestCancelled() : error;
    if (isCall) record({ definition, outcome: OUTCOMES[failureOf(failure)], ...call });
    return { failure: failureAnswer(method, failure, auditId) };
  }
}

/** Ends a call whose client did not supply the input. */
export function unanswered(
  { record }: Pick<Parts, 'record'>,
  forwarding: Forwarding,
  { call }: InputNeeded,
): Forwarded {
  const { method, decided, cancelling } = forwarding;
  const error = cancelling.isEnded
    ? new RequestCancelled()
    : new InputRequired('The server asked for input, and the client did not supply it.');
  if (call) record({ ...call, outcome: OUTCOMES[failureOf(error)] });
  return { failure: failureAnswer(method, error, decided?.decision.auditId) };
}

/** Handles an answer that asks for input first. Throws {@link InputRequired}. */
function inputOf(answer: Answer, knowsUrlErrors: boolean): Omit<InputNeeded, 'call'> | undefined {
  if (!('error' in answer)) {
    const { resultType, inputRequests, requestState } = answer.result;
    if (resultType !== 'input_required') return undefined;
    const requests = isObject(inputRequests) ? inputRequests : {};
    return { requests, repeat: requestState === undefined ? {} : { requestState } };
  }
  const { code, data } = answer.error;
  if (code === MISSING_CAPABILITY) throw new InputRequired(NOT_SUPPLIED);
  if (code !== URL_ELICITATION_REQUIRED || knowsUrlErrors) return undefined;
  const elicitations =
    isObject(data) && Array.isArray(data['elicitations']) ? data['elicitations'].filter(isObject) : [];
  if (elicitations.length === 0) return undefined;
  const requests = elicitations.map(({ message, url }, n): [string, Message] => [
    `url-${n + 1}`,
    { method: 'elicitation/create', params: { mode: 'url', message, url } },
  ]);
  return { requests: Object.fromEntries(requests), repeat: undefined };
}

/** Throws {@link InputRequired} if the client has not declared that it can supply the input, or if it is too much. */
function assertAnswerable({ requests }: Pick<InputNeeded, 'requests'>, capabilities: Message): void {
  const asked = Object.values(requests).map((request) => (isObject(request) ? request : {}));
  if (asked.length > MAX_ASKED) throw new InputRequired(TOO_MANY);
  const paramsOf = (request: Message): Message => (isObject(request['params']) ? request['params'] : {});
  if (asked.every((request) => canAnswer(capabilities, request['method'], paramsOf(request)))) return;
  const urls = asked.flatMap((request) => paramsOf(request)['url'] ?? []);
  throw new InputRequired(
    urls.length > 0 && !hasUrlElicitation(capabilities)
      ? `Nothing was done. The server asks the user to open ${urls.join(' and ')} first. Then repeat the call.`
      : NOT_SUPPLIED,
  );
}
