/** A refused call, as shown to the model. */
export interface Denial {
  readonly denied: true;
  /** A reason of a decision, or `LEGATE_UNAVAILABLE`. */
  readonly reason: string;
  readonly message: string;
  /** Seconds. */
  readonly retryAfter?: number;
  readonly approvalId?: string;
  /** Where the owner of the agent approves the call. */
  readonly approvalUrl?: string;
}

/** Returns the refusal of a call; undefined: it may run. Never throws. */
export type Decide = (
  tool: string,
  input: unknown,
  context: unknown,
  signal?: AbortSignal,
) => Promise<Denial | undefined>;

// biome-ignore lint/suspicious/noExplicitAny: the types of the frameworks stay those of the caller's tools.
type AnyFunction = (...args: any[]) => any;

/** Wraps tools by name, or an array of tools with names. Tools without a function are not changed. */
export function guardTools<T extends object>(tools: T, decide: Decide): T {
  if (Array.isArray(tools)) return tools.map((tool) => guarded(tool, tool.name, decide)) as unknown as T;
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, guarded(tool, name, decide)])) as T;
}

function guarded(tool: unknown, name: string, decide: Decide): unknown {
  if (typeof tool !== 'object' || tool === null) return tool;
  // The copy is of the same class and keeps everything else.
  const copy = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool));
  const { execute, run } = tool as { execute?: unknown; run?: unknown };
  if (typeof execute === 'function') define(copy, 'execute', guardExecute(tool, execute as AnyFunction, name, decide));
  else if (typeof run === 'function')
    define(copy, 'run', async (input: unknown, context?: { signal?: AbortSignal }) => {
      const refused = await decide(name, input, context, context?.signal);
      // A tool of the Anthropic SDK answers with text.
      return refused ? JSON.stringify(refused) : (run as AnyFunction).call(tool, input, context);
    });
  return copy;
}

const define = (tool: object, name: string, value: AnyFunction): void => {
  Object.defineProperty(tool, name, { value, enumerable: true, configurable: true, writable: true });
};

interface ExecuteOptions {
  readonly context?: unknown;
  readonly experimental_context?: unknown;
  readonly abortSignal?: AbortSignal;
}

function guardExecute(tool: object, execute: AnyFunction, name: string, decide: Decide): AnyFunction {
  const ask = (input: unknown, options: ExecuteOptions = {}): Promise<Denial | undefined> =>
    decide(name, input, options.experimental_context ?? options.context ?? options, options.abortSignal);
  // A generator shows preliminary results: the framework recognizes it before it runs.
  if (execute.constructor.name === 'AsyncGeneratorFunction')
    return async function* (input: unknown, options?: ExecuteOptions) {
      const refused = await ask(input, options);
      if (refused) yield refused;
      else yield* execute.call(tool, input, options);
    };
  return async (input: unknown, options?: ExecuteOptions) => {
    const refused = await ask(input, options);
    if (refused) return refused;
    const result = await execute.call(tool, input, options);
    if (!isAsyncIterable(result)) return result;
    let last: unknown;
    for await (const part of result) last = part;
    return last;
  };
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
