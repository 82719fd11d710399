import { randomUUID } from 'node:crypto';
import type { McpAuth } from '../guard/guard-options.ts';
import { isObject, type Message } from '../guard/json-rpc.ts';
import { callerOf } from './caller-of.ts';
import type { ServerInfo } from './list-tools.ts';
import { MODERN_REVISION } from './messages.ts';
import type { Hold } from './on-connection.ts';
import type { Answer } from './peer.ts';
import type { FinishedCall, RecordCall } from './record-call.ts';
import type { Upstreams } from './upstreams.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
export const TASK_STATUS = 'notifications/tasks/status';
const UTILITY_REVISION = '2025-11-25';
const MAX_TASKS = 10_000;
const MAX_TASKS_OF_A_CALLER = 100;
const LONGEST_MS = 24 * 60 * 60_000;

/** `utility`: tasks of MCP 2025-11-25. `extension`: tasks of MCP 2026-07-28. */
export type TaskForm = 'utility' | 'extension';

/** Returns the form of tasks that both a server and a client support. */
export function tasksBetween(
  { capabilities, revision }: Pick<ServerInfo, 'capabilities' | 'revision'>,
  ofClient: string | undefined,
): TaskForm | undefined {
  const within = (from: unknown, ...names: string[]): boolean =>
    isObject(names.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), from));
  if (revision !== ofClient) return undefined;
  if (revision === MODERN_REVISION)
    return within(capabilities, 'extensions', TASKS_EXTENSION) ? 'extension' : undefined;
  return revision === UTILITY_REVISION && within(capabilities, 'tasks', 'requests', 'tools', 'call')
    ? 'utility'
    : undefined;
}

/** Returns the capabilities for tasks as declared to a client. */
export function taskCapabilities(info: Pick<ServerInfo, 'capabilities' | 'revision'>, ofClient: string): Message {
  const form = tasksBetween(info, ofClient);
  if (form === undefined) return {};
  if (form === 'extension') return { extensions: { [TASKS_EXTENSION]: {} } };
  const { list, cancel } = info.capabilities['tasks'] as Message;
  const others = { ...(isObject(list) && { list: {} }), ...(isObject(cancel) && { cancel: {} }) };
  return { tasks: { ...others, requests: { tools: { call: {} } } } };
}

/** Returns the task that a result creates. */
export function taskIn({ task, ...result }: Message, form: TaskForm): Message | undefined {
  const made = form === 'utility' ? task : result['resultType'] === 'task' ? result : undefined;
  return isObject(made) && typeof made['taskId'] === 'string' ? made : undefined;
}

/** A task that a call has created. */
export interface Task {
  /** Its id for the client, unique among all clients. The ids of servers are unique only within a connection. */
  readonly id: string;
  readonly ofServer: string;
  readonly form: TaskForm;
  /** The connection to the server. */
  readonly key: string;
  readonly caller: string;
  readonly call: Omit<FinishedCall, 'answer' | 'outcome'>;
  /** Notifies the client of a change, if it has a session. */
  readonly notify: ((message: Message) => void) | undefined;
  readonly forgetAt: number;
  /** Releases the connection. undefined: the task has ended, and its outcome is recorded. */
  release: (() => void) | undefined;
}

const OUTCOMES = { completed: 'ok', failed: 'tool_error', cancelled: 'cancelled' } as const;

/** The tasks at one server. They end with the connection on which they were created. */
export class GatewayTasks {
  readonly #upstreams: Upstreams;
  readonly #record: RecordCall;
  readonly #tasks = new Map<string, Task>();

  constructor(upstreams: Upstreams, record: RecordCall) {
    this.#upstreams = upstreams;
    this.#record = record;
  }

  /** Returns whether this caller may have one more task. */
  hasRoom(auth: McpAuth): boolean {
    return this.#tasks.size < MAX_TASKS && this.of(auth).length < MAX_TASKS_OF_A_CALLER;
  }

  /** The connection stays open until the task has ended. */
  create(made: Message, hold: Hold, given: Pick<Task, 'form' | 'key' | 'call' | 'notify'>): Task {
    const { ttl = null, ttlMs = ttl } = made;
    const task: Task = {
      ...given,
      id: randomUUID(),
      ofServer: String(made['taskId']),
      caller: callerOf(given.call.auth),
      forgetAt: performance.now() + Math.min(typeof ttlMs === 'number' ? ttlMs : LONGEST_MS, LONGEST_MS),
      release: () => hold.release(),
    };
    this.#tasks.set(task.id, task);
    this.#seenState(task, made);
    return task;
  }

  of(auth: McpAuth): Task[] {
    const caller = callerOf(auth);
    return [...this.#tasks.values()].filter((task) => task.caller === caller);
  }

  /** Returns undefined for a task of another caller. */
  find(auth: McpAuth, id: unknown): Task | undefined {
    const task = this.#tasks.get(String(id));
    return task?.caller === callerOf(auth) ? task : undefined;
  }

  /** Records the outcome of the call if an answer about its task says that it has ended. */
  seen(task: Task, method: string, answer: Answer): void {
    if ('error' in answer) return;
    if (method === 'tasks/result') this.#end(task, { answer });
    else this.#seenState(task, answer.result);
  }

  /** Handles a notification of the server about a task, and passes it on. */
  notified(key: string, params: Message): void {
    const { taskId } = params;
    const task = [...this.#tasks.values()].find((one) => one.key === key && one.ofServer === taskId);
    if (!task) return;
    this.#seenState(task, params);
    task.notify?.({ jsonrpc: '2.0', method: TASK_STATUS, params: { ...params, taskId: task.id } });
  }

  /** Asks the server for the tasks that have not ended, because a client may not ask again. */
  async look(): Promise<void> {
    const now = performance.now();
    const open = [...this.#tasks.values()].filter(({ release }) => release);
    await Promise.all(
      open.map(async (task) => {
        const answer = await this.#upstreams
          .request(task.key, 'tasks/get', { taskId: task.ofServer }, { capabilities: capabilitiesFor(task.form) })
          .catch(() => undefined);
        if (answer && 'error' in answer) this.#end(task, { outcome: 'unknown' });
        else if (answer) this.seen(task, 'tasks/get', answer);
      }),
    );
    for (const task of this.#tasks.values()) {
      if (task.forgetAt > now) continue;
      this.#end(task, { outcome: 'unknown' });
      this.#tasks.delete(task.id);
    }
  }

  /** Ends the tasks of a connection that ended. */
  ended(key: string): void {
    for (const task of this.#tasks.values()) {
      if (task.key !== key) continue;
      this.#end(task, { outcome: 'unknown' });
      this.#tasks.delete(task.id);
    }
  }

  #seenState(task: Task, { status, result, error }: Message): void {
    const isExtension = task.form === 'extension';
    if (isExtension && status === 'completed' && isObject(result)) this.#end(task, { answer: { result } });
    else if (isExtension && status === 'failed' && isObject(error)) this.#end(task, { outcome: 'protocol_error' });
    else if (status === 'completed' || status === 'failed' || status === 'cancelled')
      this.#end(task, { outcome: OUTCOMES[status] });
  }

  #end(task: Task, how: Pick<FinishedCall, 'answer' | 'outcome'>): void {
    const { release } = task;
    if (!release) return;
    // While the gateway stops, this ends the connection, and with it the tasks that are not marked as ended.
    task.release = undefined;
    release();
    this.#record({ ...task.call, ...how });
  }
}

/** The task metadata that a server reads in each request about a task. */
export const capabilitiesFor = (form: TaskForm, others: Message = {}): Message =>
  form === 'extension' ? { ...others, extensions: { [TASKS_EXTENSION]: {} } } : others;
