import { LRUCache } from 'lru-cache';
import type { Question } from './asks.ts';
import type { McpAuth } from './guard-options.ts';
import { declaredCapabilities, isObject, type Message, messagesOf, paramsOf } from './json-rpc.ts';

const MAX_TASKS = 20_000;
const MAX_ID_LENGTH = 1024;
const EXTENSION = 'io.modelcontextprotocol/tasks';
const TASK_METHODS: ReadonlySet<unknown> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/result']);

/**
 * The same error for a task of another caller and for one that is no longer known, because the owners of tasks are kept
 * in memory.
 */
export const TASK_NOT_FOUND = {
  code: -32602,
  message:
    'Task not found. Tasks end with a restart; the call that created it may have been carried out, ' +
    'so check its effects before you repeat it.',
} as const;

interface Made {
  readonly caller: string;
  readonly question: Question;
}

/** Identifies an agent, or one that acts by a delegation from it, which may do less. */
export const callerOf = ({ agentId, actorId }: McpAuth): string => `${agentId} ${actorId ?? ''}`;

/** Remembers which call created which task. A task belongs to the caller of that call and does not exist for others. */
export class Tasks {
  readonly #made = new LRUCache<string, Made>({ max: MAX_TASKS });

  /** Remembers the task that the answer to a call names, if any. */
  note(message: unknown, auth: McpAuth, { name, reads }: Question): void {
    const result = isObject(message) ? message['result'] : undefined;
    if (!isObject(result)) return;
    const { taskId } = isObject(result['task']) ? result['task'] : result;
    // If a server repeats an id, the task of one caller does not pass to another.
    if (typeof taskId === 'string' && taskId.length <= MAX_ID_LENGTH && !this.#made.has(taskId))
      this.#made.set(taskId, { caller: callerOf(auth), question: { name, reads } });
  }

  /** Returns the call that created a task, or undefined if the caller has no such task. */
  find(taskId: unknown, auth: McpAuth): Question | undefined {
    const made = typeof taskId === 'string' ? this.#made.get(taskId) : undefined;
    return made?.caller === callerOf(auth) ? made.question : undefined;
  }
}

/** Whether the client accepts a task instead of a result for this call. */
export const mayMakeTask = (message: Message): boolean => {
  const { extensions } = declaredCapabilities(message);
  return isObject(paramsOf(message)['task']) || (isObject(extensions) && EXTENSION in extensions);
};

/** Returns the ids of the tasks that a body names. */
export const taskIdsOf = (body: unknown): unknown[] =>
  messagesOf(body)
    .filter(({ method }) => TASK_METHODS.has(method))
    .map((message) => paramsOf(message)['taskId']);
