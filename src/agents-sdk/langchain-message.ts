/** What the middleware for LangChain returns instead of calling a refused tool. */

interface RefusedCall {
  readonly toolCall: { readonly id?: string; readonly name: string };
  readonly state?: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: a class of LangChain, which is not imported.
type MessageClass = (new (fields: object) => any) & { lc_name?: () => string };

/**
 * Returns a tool message with the status `error`. LangChain accepts only messages of its own classes, so the class is
 * derived from that of the run's messages. Outside a run it is an object of the same form.
 */
export function refusalMessage({ toolCall, state }: RefusedCall, content: string): Record<string, unknown> {
  const fields = { content, name: toolCall.name, tool_call_id: toolCall.id, status: 'error' };
  const messages: unknown = Array.isArray(state) ? state : (state as { messages?: unknown } | undefined)?.messages;
  const base = Array.isArray(messages) ? baseOf(messages.at(-1)) : undefined;
  return base ? new (toolMessageClass(base))(fields) : { type: 'tool', ...fields };
}

/** Returns LangChain's `BaseMessage`: the first of a message's classes that has this name. */
function baseOf(message: unknown): MessageClass | undefined {
  let base: MessageClass | undefined;
  let type = (message as object | undefined)?.constructor as MessageClass | null | undefined;
  for (; typeof type === 'function'; type = Object.getPrototypeOf(type) as MessageClass | null)
    if (type.lc_name?.() === 'BaseMessage') base = type;
  return base;
}

/** The name and the members are those of LangChain's own class, which reads stored messages. */
const toolMessageClass = (base: MessageClass): MessageClass =>
  class ToolMessage extends base {
    static override lc_name = (): string => 'ToolMessage';
    readonly lc_direct_tool_output = true;
    readonly type = 'tool';
    readonly tool_call_id: unknown;
    readonly status: unknown;

    constructor(fields: { readonly tool_call_id?: unknown; readonly status?: unknown }) {
      super(fields);
      this.tool_call_id = fields.tool_call_id;
      this.status = fields.status;
    }

    get lc_aliases(): object {
      return { tool_call_id: 'tool_call_id' };
    }
  };
