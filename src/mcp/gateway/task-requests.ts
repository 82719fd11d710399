import type { McpAuth } from '../guard/guard-options.ts';
import { isObject, type Message, type RpcError } from '../guard/json-rpc.ts';
import { TASK_NOT_FOUND } from '../guard/tasks.ts';
import { notFound } from './answers.ts';
import { canAnswer } from './client-requests.ts';
import type { Ending } from './ending.ts';
import type { Reply } from './forward.ts';
import { failureAnswer, INVALID_PARAMS, MISSING_CAPABILITY, paramsPassedOn, RELATED_TASK } from './messages.ts';
import type { Answer, Party } from './peer.ts';
import { capabilitiesFor, type GatewayTasks, TASKS_EXTENSION, type Task, type TaskForm } from './tasks.ts';
import type { Upstreams } from './upstreams.ts';

const PAGE = 10;

interface Parts {
  readonly tasks: GatewayTasks;
  readonly upstreams: Upstreams;
}

interface TaskRequest {
  readonly auth: McpAuth;
  readonly form: TaskForm | undefined;
  readonly method: string;
  readonly params: Message;
  /** Capabilities of the client that are passed on to the server. */
  readonly capabilities: Message;
  /** Whether the client supports tasks, in the revision in which each request declares it. */
  readonly declares: boolean;
  readonly signal: Ending;
  readonly party: Party;
}

const refused = (code: number, message: string, data?: Message): { readonly error: RpcError } => ({
  error: { code, message, ...(data && { data }) },
});

/** Answers a request about tasks. The guard has checked that the call that created the task is permitted. */
export async function answerTaskRequest(parts: Parts, request: TaskRequest): Promise<Reply> {
  const { auth, form, method, params, declares } = request;
  if (form === undefined) return notFound(method);
  if (form === 'extension' && !declares) {
    const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
    return refused(MISSING_CAPABILITY, 'The request needs a capability.', { requiredCapabilities });
  }
  if (method === 'tasks/list') return listTasks(parts, request);
  const task = parts.tasks.find(auth, params['taskId']);
  if (!task) return { error: TASK_NOT_FOUND };
  try {
    const answer = await ask(parts, task, request);
    return 'error' in answer ? answer : { result: ofClient(answer.result, task, request.capabilities) };
  } catch (error) {
    return failureAnswer(method, error, task.call.auditId);
  }
}

/** Asks the server about a task. */
async function ask({ tasks, upstreams }: Parts, task: Task, request: TaskRequest): Promise<Answer> {
  const { method, params, capabilities, signal, party } = request;
  const { inputResponses } = params;
  const passedOn = {
    ...paramsPassedOn(params),
    taskId: task.ofServer,
    ...(method === 'tasks/update' && { inputResponses }),
  };
  const answer = await upstreams.request(task.key, method, passedOn, {
    capabilities: capabilitiesFor(task.form, capabilities),
    signal,
    // Requests of the server during the task name the task.
    party: {
      client: party.client,
      ask: (asked) => party.ask({ ...asked, params: withRelatedTask(asked.params, task.id) }),
    },
  });
  tasks.seen(task, method, answer);
  return answer;
}

/**
 * Returns the caller's tasks, one page at a time. The list of the server would include those of all clients of the
 * connection.
 */
async function listTasks(parts: Parts, request: TaskRequest): Promise<Reply> {
  const { auth, params } = request;
  const own = parts.tasks.of(auth);
  const { cursor } = params;
  const from = cursor === undefined ? 0 : own.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && from === 0) return refused(INVALID_PARAMS, 'The cursor is not valid.');
  const page = own.slice(from, from + PAGE);
  const found = page.map(async (task): Promise<Message[]> => {
    const answer = await ask(parts, task, { ...request, method: 'tasks/get', params: {} }).catch(() => undefined);
    return answer && 'result' in answer ? [ofClient(answer.result, task, {})] : [];
  });
  const last = own.length > from + PAGE ? page.at(-1) : undefined;
  return { result: { tasks: (await Promise.all(found)).flat(), ...(last && { nextCursor: last.id }) } };
}

/** Returns a result about a task with the id that the client knows, and with questions that the client can answer. */
function ofClient(result: Message, task: Task, capabilities: Message): Message {
  const { taskId, inputRequests, ...others } = withRelatedTask(result, task.id);
  const answerable = Object.entries(isObject(inputRequests) ? inputRequests : {}).filter(
    ([, one]) => isObject(one) && canAnswer(capabilities, one['method'], isObject(one['params']) ? one['params'] : {}),
  );
  return {
    ...others,
    ...(taskId !== undefined && { taskId: task.id }),
    ...(isObject(inputRequests) && { inputRequests: Object.fromEntries(answerable) }),
  };
}

function withRelatedTask(message: Message, taskId: string): Message {
  const meta = message['_meta'];
  return isObject(meta) && RELATED_TASK in meta
    ? { ...message, _meta: { ...meta, [RELATED_TASK]: { taskId } } }
    : message;
}
