/** The parts of the frameworks' published types that the guard reads and returns. */

/** AI SDK 7: `toolApproval` of generateText, streamText and agents. */
export type AiToolApproval = (call: {
  readonly toolCall: { readonly toolName: string; readonly input: unknown };
  readonly runtimeContext?: unknown;
}) => Promise<{ type: 'approved' } | { type: 'denied'; reason: string }>;

/** OpenAI Agents SDK: an entry of `inputGuardrails` of a tool. */
export interface OpenaiGuardrail {
  readonly type: 'tool_input';
  readonly name: string;
  readonly run: (data: {
    readonly context: { readonly context: unknown };
    readonly toolCall: { readonly name: string; readonly arguments: string };
  }) => Promise<{ behavior: { type: 'allow' } | { type: 'rejectContent'; message: string }; outputInfo?: unknown }>;
}

/** LangChain: an entry of `middleware` of createAgent. */
export interface LangchainMiddleware {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: createAgent infers the types of its other middleware from this one.
  readonly wrapToolCall: (request: any, handler: (request: any) => any) => Promise<any>;
}

/** Claude Agent SDK: `hooks` of query. */
export interface ClaudeHooks {
  readonly PreToolUse: {
    readonly timeout: number;
    readonly hooks: ((
      input: ClaudeHookInput,
      toolUseId: string | undefined,
      options: { signal: AbortSignal },
    ) => Promise<ClaudeHookOutput>)[];
  }[];
}

/** Input of any hook; those of `PreToolUse` name a tool. */
export interface ClaudeHookInput {
  readonly hook_event_name: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
}

export interface ClaudeHookOutput {
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse';
    permissionDecision: 'allow' | 'deny';
    permissionDecisionReason?: string;
  };
}

/** Mastra: `hooks` of an agent. */
export interface MastraHooks {
  readonly beforeToolCall: (call: {
    readonly toolName: string;
    readonly input: unknown;
    readonly context: unknown;
    // biome-ignore lint/suspicious/noConfusingVoidType: the type that Mastra publishes.
  }) => Promise<void | { proceed: false; output: unknown }>;
}
