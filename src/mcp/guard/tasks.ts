import { LRUCache } from 'lru-cache';
import type { Question } from './asks.ts';
import type { McpAuth } from './guard-options.ts';
import { declaredCapabilities, isObject, type Message, messagesOf, paramsOf } from './json-rpc.ts';

const MAX_TASKS = 20_000;
const EXTENSION = 'io.modelcontextprotocol/tasks';
const TASK_METHODS: ReadonlySet<unknown> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/result']);

interface Made {
  readonly caller: string;
  readonly question: Question;
}

const callerOf = ({ agentId, actorId }: McpAuth): string => `${agentId} ${actorId ?? ''}`;

/** Which call made which task. A task belongs to the caller of that call; for every other one it is not there. */
export class Tasks {
  readonly #made = new LRUCache<string, Made>({ max: MAX_TASKS });

  /** Takes note of the task that the answer to a call names, if it names one. */
  note(message: unknown, auth: McpAuth, question: Question): void {
    const result = isObject(message) ? message['result'] : undefined;
    if (!isObject(result)) return;
    const { taskId } = isObject(result['task']) ? result['task'] : result;
    // A server that repeats an id does not hand the task of one caller to another.
    if (typeof taskId === 'string' && !this.#made.has(taskId))
      this.#made.set(taskId, { caller: callerOf(auth), question });
  }

  /** The call that made a task; undefined: the caller has no such task. */
  find(taskId: unknown, auth: McpAuth): Question | undefined {
    const made = typeof taskId === 'string' ? this.#made.get(taskId) : undefined;
    return made?.caller === callerOf(auth) ? made.question : undefined;
  }
}

/** Whether the answer to a call may be a task instead of its result: the client says so with each call. */
export const mayMakeTask = (message: Message): boolean => {
  const { extensions } = declaredCapabilities(message);
  return isObject(paramsOf(message)['task']) || (isObject(extensions) && EXTENSION in extensions);
};

/** The tasks that a body is about. */
export const taskIdsOf = (body: unknown): unknown[] =>
  messagesOf(body)
    .filter(({ method }) => TASK_METHODS.has(method))
    .map((message) => paramsOf(message)['taskId']);
