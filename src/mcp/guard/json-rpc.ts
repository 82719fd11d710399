export type MessageId = string | number;
export type Message = Record<string, unknown>;

/** A request is refused because of its body, before anything is decided. */
export class RefusedBody extends Error {
  readonly status: number;
  readonly error: RpcError;
  /** The message that is answered, if there is one. */
  readonly body: unknown;

  constructor(status: number, error: RpcError, { body, cause }: { body?: unknown; cause?: unknown } = {}) {
    super(error.message, { cause });
    this.status = status;
    this.error = error;
    this.body = body;
  }
}

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/** The body is not valid JSON, so it cannot be decided. */
export class UnreadableBody extends RefusedBody {
  constructor(cause: unknown) {
    super(400, { code: PARSE_ERROR, message: 'The body is not JSON.' }, { cause });
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Parses a body as JavaScript handlers do: UTF-8, the last of equal names counts. Throws {@link UnreadableBody}. */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw new UnreadableBody(error);
  }
}

export const isObject = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Maximum nesting of objects and arrays in a message. `JSON.parse` reads any, but what writes or compares a value calls
 * itself for each level, and the stack ends at some thousands.
 */
const MAX_NESTING = 500;

export function isTooDeep(value: unknown, left = MAX_NESTING): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (left === 0) return true;
  if (Array.isArray(value)) return value.some((part) => isTooDeep(part, left - 1));
  // An object from JSON has members of its own only, and this needs no array of them.
  for (const name in value) if (isTooDeep((value as Message)[name], left - 1)) return true;
  return false;
}

export type GuardedBody = { readonly parsed: unknown } | { readonly bytes: Uint8Array } | null;

/** Returns the parsed body. Throws {@link UnreadableBody}, or {@link RefusedBody} if it is nested too deeply. */
export function readBody(found: GuardedBody): unknown {
  const body = found === null ? null : 'bytes' in found ? parseBody(found.bytes) : found.parsed;
  // Each level takes at least one byte.
  if ((found && 'bytes' in found && found.bytes.length <= MAX_NESTING) || !isTooDeep(body)) return body;
  throw new RefusedBody(400, { code: INVALID_REQUEST, message: 'The body is nested too deeply.' }, { body });
}

export const isMessageId = (id: unknown): id is MessageId => typeof id === 'string' || typeof id === 'number';

/** Returns the id of a message, or undefined for a notification, which is never answered. */
export const idOf = (message: Message): MessageId | undefined => {
  const id = message['id'];
  return isMessageId(id) ? id : undefined;
};

export const paramsOf = (message: Message): Message => (isObject(message['params']) ? message['params'] : {});

/** Returns the messages of a body: one, or a batch (MCP 2025-03-26). */
export const messagesOf = (body: unknown): Message[] => {
  if (Array.isArray(body)) return body.filter(isObject);
  return isObject(body) ? [body] : [];
};

/** Whether a message is a notification or a response, which is never answered (JSON-RPC 2.0, sections 4.1 and 5). */
const isUnanswered = (message: unknown): boolean => {
  if (!isObject(message)) return false;
  const { id, method } = message;
  return method === undefined ? 'result' in message || 'error' in message : id === undefined;
};

/** Whether no message of the body is answered. A refusal is then an HTTP error. */
export const hasNoRequest = (body: unknown): boolean =>
  Array.isArray(body) ? body.length > 0 && body.every(isUnanswered) : isUnanswered(body);

/** Whether a message of the body has one of these methods. */
export const hasMethod = (body: unknown, methods: ReadonlySet<string>): boolean =>
  messagesOf(body).some(({ method }) => typeof method === 'string' && methods.has(method));

export const META_VERSION = 'io.modelcontextprotocol/protocolVersion';
export const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

export const metaOf = (message: Message): Message => {
  const meta = paramsOf(message)['_meta'];
  return isObject(meta) ? meta : {};
};

/** Returns the protocol revision that the request names, as all do since 2026-07-28. */
export const revisionOf = (message: Message): string | undefined => {
  const revision = metaOf(message)[META_VERSION];
  return typeof revision === 'string' ? revision : undefined;
};

export const declaredCapabilities = (message: Message): Message => {
  const declared = metaOf(message)[META_CAPABILITIES];
  return isObject(declared) ? declared : {};
};

/** Whether a client can show a URL to its user. An empty `elicitation` means forms only. */
export const hasUrlElicitation = ({ elicitation }: Message): boolean =>
  isObject(elicitation) && isObject(elicitation['url']);

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * Returns the answers to all messages that expect one. If there are none, returns the error without an id, which the
 * HTTP error of a refused notification may have (MCP 2025-11-25, transports, sending messages to the server).
 */
export function answerEach(
  body: unknown,
  answer: (message: Message) => { readonly result: unknown } | { readonly error: RpcError },
): string {
  if (hasNoRequest(body)) return JSON.stringify({ jsonrpc: '2.0', ...answer({ method: '' }) });
  const answers = messagesOf(body)
    .filter((message) => 'method' in message && idOf(message) !== undefined)
    .map((message) => ({ jsonrpc: '2.0', id: idOf(message), ...answer(message) }));
  return JSON.stringify(
    Array.isArray(body) ? answers : (answers[0] ?? { jsonrpc: '2.0', id: null, ...answer({ method: '' }) }),
  );
}

/** Answers all messages with one error. */
export const errorAnswer = (body: unknown, error: RpcError): string => answerEach(body, () => ({ error }));
