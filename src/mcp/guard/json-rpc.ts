/** A message of JSON-RPC 2.0 as far as the guard looks at it. */
export interface ToolCall {
  /** undefined: a notification, which is never answered. */
  readonly id: string | number | undefined;
  readonly tool: string;
  readonly arguments: Record<string, unknown> | undefined;
}

/** The body is not what the handler could read as JSON: nothing can be said about what it asks for. */
export class UnreadableBody extends Error {}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** As every handler in this language reads it: UTF-8, the last of two equal names counts. Throws {@link UnreadableBody}. */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw new UnreadableBody('the body is not JSON', { cause: error });
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const idOf = (message: Record<string, unknown>): string | number | undefined => {
  const id = message['id'];
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
};

/** Every message of a body: one, or a batch (MCP 2025-03-26). */
const messagesOf = (body: unknown): Record<string, unknown>[] => (Array.isArray(body) ? body : [body]).filter(isObject);

/** Ids of what waits for an answer. */
export const idsOf = (body: unknown): (string | number)[] =>
  messagesOf(body)
    .filter((message) => 'method' in message)
    .map(idOf)
    .filter((id) => id !== undefined);

/** Every call of a tool, in order. A name that is no text is the name of no tool. */
export function toolCalls(body: unknown): ToolCall[] {
  return messagesOf(body)
    .filter((message) => message['method'] === 'tools/call')
    .map((message) => {
      const params = isObject(message['params']) ? message['params'] : {};
      return {
        id: idOf(message),
        tool: typeof params['name'] === 'string' ? params['name'] : '',
        arguments: isObject(params['arguments']) ? params['arguments'] : undefined,
      };
    });
}

/** Error objects for each that waits for an answer; in a batch, those that were not refused themselves say so. */
export function errorAnswer(body: unknown, error: { code: number; message: string; data?: unknown }): string {
  const answers = idsOf(body).map((id) => ({ jsonrpc: '2.0', id, error }));
  return JSON.stringify(Array.isArray(body) ? answers : (answers[0] ?? { jsonrpc: '2.0', id: null, error }));
}

/** Whether a message of the body has one of these methods. */
export const hasMethod = (body: unknown, methods: ReadonlySet<string>): boolean =>
  messagesOf(body).some(({ method }) => typeof method === 'string' && methods.has(method));
