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

/**
 * Wraps tools by name, or an array of tools with names. Tools that the application does not run itself are not changed.
 * Throws a TypeError for a tool that it does not know how to guard.
 */
export function guardTools<T extends object>(tools: T, decide: Decide): T {
  if (Array.isArray(tools)) return tools.map((tool) => guarded(tool, tool.name, decide)) as unknown as T;
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, guarded(tool, name, decide)])) as T;
}

/** How tools of other forms are run, such as those of LangChain, the OpenAI Agents SDK and the Claude Agent SDK. */
const OTHER_FUNCTIONS = ['invoke', 'call', 'func', 'function', 'handler'];

function guarded(tool: unknown, name: string, decide: Decide): unknown {
  const { execute, run, toModelOutput } = (tool ?? {}) as Record<string, unknown>;
  if (typeof execute !== 'function' && typeof run !== 'function' && runsOtherwise(tool))
    throw new TypeError(`guard.tools: ${name} has no function \`execute\` or \`run\`, so its calls cannot be decided.`);
  if (typeof tool !== 'object' || tool === null) return tool;
  // The copy is of the same class and keeps everything else.
  const copy = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool));
  if (typeof execute === 'function') {
    define(copy, 'execute', guardExecute(tool, execute as AnyFunction, name, decide));
    if (typeof toModelOutput === 'function')
      define(copy, 'toModelOutput', modelOutput(tool, toModelOutput as AnyFunction));
  } else if (typeof run === 'function')
    define(copy, 'run', async (input: unknown, context?: { signal?: AbortSignal }) => {
      const refused = await decide(name, input, context, context?.signal);
      // A tool of the Anthropic SDK answers with text.
      return refused ? JSON.stringify(refused) : (run as AnyFunction).call(tool, input, context);
    });
  return copy;
}

/** Also true for tools in groups, such as those of each MCP server. */
function runsOtherwise(tool: unknown): boolean {
  if (typeof tool !== 'object' || tool === null) return typeof tool === 'function';
  return (
    OTHER_FUNCTIONS.some((name) => typeof (tool as Record<string, unknown>)[name] === 'function') ||
    Object.values(tool).some((inner) => typeof (inner as { execute?: unknown } | null)?.execute === 'function')
  );
}

/** A tool turns its own results into what the model sees (AI SDK, Mastra). It does not know refusals. */
function modelOutput(tool: object, toModelOutput: AnyFunction): AnyFunction {
  return (given: unknown, ...more: unknown[]) => {
    // The AI SDK 6 and later pass `{ toolCallId, input, output }`, earlier versions and Mastra the output.
    const refused = [given, (given as { output?: unknown } | null)?.output].find(isDenial);
    return refused ? { type: 'json', value: refused } : toModelOutput.call(tool, given, ...more);
  };
}

function isDenial(value: unknown): value is Denial {
  const { denied, reason, message } = (value ?? {}) as Record<string, unknown>;
  return denied === true && typeof reason === 'string' && typeof message === 'string';
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
