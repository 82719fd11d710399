import { refusalMessage } from './langchain-message.ts';
import type { AiToolApproval, ClaudeHooks, LangchainMiddleware, MastraHooks, OpenaiGuardrail } from './shapes.ts';
import type { Denial } from './tools.ts';
import { type Decide, guardTools } from './tools.ts';

/** A `LegateClient`, or the `Legate` of the same process. */
export interface GuardedLegate {
  readonly baseUrl?: string | undefined;
  /** Only of the `Legate` of the same process: where its pages are mounted. */
  readonly platform?: { readonly config: { readonly http: { readonly restPath: string } } } | undefined;
  authorize(request: {
    agentId: string;
    action: string;
    resource: string;
    arguments: Record<string, unknown>;
  }): Promise<{
    readonly allowed: boolean;
    readonly reason?: string | undefined;
    readonly retryAfter?: number | undefined;
    readonly approvalId?: string | undefined;
  }>;
  readonly approvals: { get(id: string): Promise<{ readonly status: string }> };
}

export interface GuardOptions {
  /**
   * Id of the agent, or a function that returns it from the context that the framework passes: AI SDK
   * `experimental_context` or `context`, OpenAI Agents and LangChain the context of the run, Mastra the context of the
   * tool, Claude the input of the hook.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each framework and application has its own context.
  readonly agent: string | ((context: any) => string | Promise<string>);
  /** Name of the application in resources. */
  readonly app: string;
  /**
   * `return` (the default): the model learns that the call waits, with a link. `wait`: the call waits for the person.
   */
  readonly onApproval?: 'return' | 'wait' | undefined;
  /**
   * Gets the error of each call that is denied with LEGATE_UNAVAILABLE. By default it is a warning of the process, once
   * a minute.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface ToolGuard {
  /**
   * Returns tools that are decided before they run: an object of AI SDK or Mastra tools (`execute`), or an array of
   * tools of the Anthropic SDK (`run`).
   */
  tools<T extends object>(tools: T): T;
  /** AI SDK 7: `generateText({ toolApproval: guard.toolApproval() })`, instead of `tools`. */
  toolApproval(): AiToolApproval;
  /** OpenAI Agents SDK: `tool({ inputGuardrails: [guard.openaiGuardrail()] })`. */
  openaiGuardrail(): OpenaiGuardrail;
  /** LangChain: `createAgent({ middleware: [guard.langchainMiddleware()] })`. */
  langchainMiddleware(): LangchainMiddleware;
  /** Claude Agent SDK: `query({ options: { hooks: guard.claudeHooks() } })`. */
  claudeHooks(): ClaudeHooks;
  /** Mastra: `new Agent({ hooks: guard.mastraHooks() })`. */
  mastraHooks(): MastraHooks;
}

const MESSAGES: Readonly<Record<string, string>> = {
  NO_PERMISSION: 'You have no permission to call this tool. Do not try again.',
  RATE_LIMITED: 'This tool was called too often. Try again later.',
  BUDGET_EXCEEDED: 'The budget for this work is used up.',
  OUTSIDE_TIME_WINDOW: 'This tool cannot be called at this time.',
  ARGUMENTS_NOT_ALLOWED: 'These arguments are not permitted. Others may be.',
  APPROVAL_REQUIRED: 'A person has to approve this call. Once it is approved, repeat it with the same arguments.',
  APPROVAL_DENIED: 'A person has denied this call. Do not try again.',
  APPROVAL_EXPIRED: 'Nobody approved this call in time.',
  LEGATE_UNAVAILABLE: 'The call could not be decided, so it was not made.',
};
const POLL_MS = 1000;
/** Claude ends a hook after this time in seconds, and would then go on without a decision: waits end before. */
const HOOK_SECONDS = 900;
const MAX_WAIT_MS = (HOOK_SECONDS - 60) * 1000;

const WARN_AGAIN_MS = 60_000;

function warnings(): (error: unknown) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    const now = performance.now();
    if (now - warnedAt < WARN_AGAIN_MS) return;
    warnedAt = now;
    const { code, message = String(error) } = (error ?? {}) as { code?: unknown; message?: string };
    const cause = typeof code === 'string' ? `${code}: ${message}` : message;
    process.emitWarning(`legate/agents: a call could not be decided and was denied. ${cause}`, 'LegateWarning');
  };
}

/** Returns a guard for the tools of one application. */
export function guardFor(
  legate: GuardedLegate,
  { agent, app, onApproval = 'return', onError = warnings() }: GuardOptions,
): ToolGuard {
  for (const [name, value] of Object.entries({ agent, app }))
    if (!value) throw new TypeError(`guardFor: ${name} is missing.`);
  const denial = (reason: string, more: Partial<Denial> = {}): Denial => ({
    denied: true,
    reason,
    message: MESSAGES[reason] ?? `The call is denied: ${reason}.`,
    ...more,
  });

  /** Asks once, and after an approval once more. */
  const ask = async (
    tool: string,
    input: unknown,
    context: unknown,
    signal?: AbortSignal,
  ): Promise<Denial | undefined> => {
    const agentId = typeof agent === 'string' ? agent : await agent(context);
    if (typeof agentId !== 'string' || agentId === '') return denial('NO_PERMISSION');
    const request = {
      agentId,
      action: 'execute',
      resource: `app:${app}:${segment(tool)}`,
      arguments: argumentsOf(input),
    };
    let decision = await legate.authorize(request);
    const { approvalId } = decision;
    if (decision.reason === 'APPROVAL_REQUIRED' && approvalId !== undefined && onApproval === 'wait') {
      // A narrowed token may ask for decisions only. The answer is then the same as without waiting.
      const status = await approvalOf(approvalId, signal).catch(() => 'pending');
      if (status === 'denied') return denial('APPROVAL_DENIED', { approvalId });
      if (status === 'expired') return denial('APPROVAL_EXPIRED', { approvalId });
      if (status === 'approved') decision = await legate.authorize(request);
    }
    if (decision.allowed === true) return undefined;
    return denial(decision.reason ?? 'NO_PERMISSION', {
      ...(decision.retryAfter === undefined ? {} : { retryAfter: decision.retryAfter }),
      ...(decision.approvalId === undefined ? {} : { approvalId: decision.approvalId, ...linkTo(decision.approvalId) }),
    });
  };

  const linkTo = (approvalId: string): { approvalUrl?: string } => {
    const { baseUrl, platform } = legate;
    if (baseUrl === undefined) return {};
    const rest = (baseUrl + (platform?.config.http.restPath ?? '')).replace(/\/$/, '');
    return { approvalUrl: `${rest}/account/approvals/${approvalId}` };
  };

  /** Waits until an approval is no longer pending. */
  const approvalOf = async (id: string, signal: AbortSignal | undefined): Promise<string> => {
    for (const until = Date.now() + MAX_WAIT_MS; ; ) {
      const { status } = await legate.approvals.get(id);
      if (status !== 'pending' || Date.now() >= until || signal?.aborted) return status;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };

  const decide: Decide = async (tool, input, context, signal) => {
    try {
      return await ask(tool, input, context, signal);
    } catch (error) {
      try {
        onError(error);
      } catch {
        // The call is denied all the same.
      }
      return denial('LEGATE_UNAVAILABLE');
    }
  };

  return {
    tools: (tools) => guardTools(tools, decide),
    toolApproval:
      () =>
      async ({ toolCall, runtimeContext }) => {
        const refused = await decide(toolCall.toolName, toolCall.input, runtimeContext);
        return refused ? { type: 'denied', reason: JSON.stringify(refused) } : { type: 'approved' };
      },
    openaiGuardrail: () => ({
      type: 'tool_input',
      name: 'legate',
      run: async ({ context, toolCall }) => {
        const refused = await decide(toolCall.name, parsed(toolCall.arguments), context?.context);
        return refused
          ? { behavior: { type: 'rejectContent', message: JSON.stringify(refused) }, outputInfo: refused }
          : { behavior: { type: 'allow' } };
      },
    }),
    langchainMiddleware: () => ({
      name: 'Legate',
      wrapToolCall: async (request, handler) => {
        const { name, args } = request.toolCall;
        const refused = await decide(name, args, request.runtime?.context, request.runtime?.signal);
        // A middleware after this one could replace the tool, so `handler` is not called.
        return refused ? refusalMessage(request, JSON.stringify(refused)) : handler(request);
      },
    }),
    claudeHooks: () => ({
      PreToolUse: [
        {
          timeout: HOOK_SECONDS,
          hooks: [
            async (input, _id, options) => {
              if (input.hook_event_name !== 'PreToolUse') return {};
              const refused = await decide(input.tool_name ?? '', input.tool_input, input, options?.signal);
              return {
                hookSpecificOutput: {
                  hookEventName: 'PreToolUse',
                  ...(refused
                    ? { permissionDecision: 'deny', permissionDecisionReason: JSON.stringify(refused) }
                    : { permissionDecision: 'allow' }),
                },
              };
            },
          ],
        },
      ],
    }),
    mastraHooks: () => ({
      beforeToolCall: async ({ toolName, input, context }) => {
        const refused = await decide(toolName, input, context);
        return refused ? { proceed: false, output: refused } : undefined;
      },
    }),
  };
}

/** A name of a tool as one segment of a resource. */
const segment = (tool: string): string =>
  tool.replace(/[:*%\s]/g, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`);

/** Arguments of a decision are an object. */
const argumentsOf = (input: unknown): Record<string, unknown> =>
  input === undefined || input === null
    ? {}
    : typeof input === 'object' && !Array.isArray(input)
      ? (input as Record<string, unknown>)
      : { input };

/** A call with arguments that are not JSON is decided on their text. */
function parsed(json: string): unknown {
  try {
    return json.trim() === '' ? {} : JSON.parse(json);
  } catch {
    return json;
  }
}
