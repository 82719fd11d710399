import { isObject, type Message, type RpcError } from '../guard/json-rpc.ts';
import { CallTimedOut, NotConnected, OutcomeUnknown, RequestCancelled } from './peer.ts';

export const MODERN_REVISION = '2026-07-28';
export const INITIALIZE_REVISIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];
export const REVISIONS: readonly string[] = [MODERN_REVISION, ...INITIALIZE_REVISIONS];

/** Error codes of JSON-RPC 2.0 and MCP. */
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const NO_SESSION = -32001;
export const UNSUPPORTED_REVISION = -32022;
/** The client has not declared a capability that the request needs (MCP 2026-07-28). */
export const MISSING_CAPABILITY = -32021;
/** The person has to open an address first (MCP 2025-11-25). */
export const URL_ELICITATION_REQUIRED = -32042;
/** Error codes of the gateway, outside the range that JSON-RPC 2.0 reserves. */
const FAILED = {
  NOT_CONNECTED: 1401,
  INPUT_REQUIRED: 1422,
  CANCELLED: 1499,
  SERVER_UNAVAILABLE: 1503,
  TIMEOUT: 1504,
  OUTCOME_UNKNOWN: 1505,
} as const;
export type FailureReason = keyof typeof FAILED;
/** The code of the official SDK for servers. */
export const METHOD_NOT_ALLOWED: RpcError = { code: -32000, message: 'Method not allowed.' };
export const STOPPING: RpcError = { code: FAILED.SERVER_UNAVAILABLE, message: 'The gateway is stopping.' };

/** The recorded outcome of a call that failed. */
export const OUTCOMES = {
  NOT_CONNECTED: 'unavailable',
  INPUT_REQUIRED: 'protocol_error',
  CANCELLED: 'cancelled',
  SERVER_UNAVAILABLE: 'unavailable',
  TIMEOUT: 'timeout',
  OUTCOME_UNKNOWN: 'unknown',
} as const;

/** Notifications of a server that are passed on to clients. */
export const NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/message',
]);

const TEXTS: Readonly<Record<Exclude<FailureReason, 'NOT_CONNECTED' | 'INPUT_REQUIRED'>, string>> = {
  CANCELLED: 'The client cancelled the request. It may have been carried out.',
  SERVER_UNAVAILABLE: 'The server cannot be reached at the moment, so nothing was done. Try again later.',
  TIMEOUT: 'The server did not answer in time. The call may have been carried out.',
  OUTCOME_UNKNOWN: 'The connection to the server broke during the call. The call may have been carried out.',
};

const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);
const OF_PROTOCOL = 'io.modelcontextprotocol/';
/** Names the task that a message belongs to (MCP 2025-11-25). */
export const RELATED_TASK = `${OF_PROTOCOL}related-task`;

/** Returns metadata without the members that describe one connection. */
function foreignMeta(meta: unknown): Message {
  if (!isObject(meta)) return {};
  return Object.fromEntries(
    Object.entries(meta).filter(
      ([name]) => name === RELATED_TASK || (!name.startsWith(OF_PROTOCOL) && name !== 'progressToken'),
    ),
  );
}

const OF_ONE_REQUEST = ['_meta', 'inputResponses', 'requestState', 'task'];

/** Returns the parameters of a request as the other side receives them. */
export function paramsPassedOn(params: Message): Message {
  if (!OF_ONE_REQUEST.some((name) => name in params)) return params;
  const { _meta, inputResponses: _responses, requestState: _state, task: _task, ...others } = params;
  const meta = foreignMeta(_meta);
  return Object.keys(meta).length === 0 ? others : { _meta: meta, ...others };
}

export const progressTokenOf = (params: Message): unknown =>
  isObject(params['_meta']) ? params['_meta']['progressToken'] : undefined;

export const progressMessage = (token: unknown, made: Message): Message => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { ...made, progressToken: token },
});

/**
 * Members with which the gateway describes its own answers. They are removed from answers of servers, which could
 * otherwise pretend to be the gateway.
 */
const OWN_META: ReadonlySet<string> = new Set(['auditId', 'reason', 'retryAfter', 'approvalId']);

/** Returns the result of a server as the client receives it. */
export function resultForClient(method: string, result: Message, modern: Message | undefined): Message {
  if (!modern && !('_meta' in result)) return result;
  const { _meta, ...others } = result;
  const claimed = Object.entries(foreignMeta(_meta)).filter(([name]) => !OWN_META.has(name));
  if (modern) claimed.push([`${OF_PROTOCOL}serverInfo`, modern]);
  if (claimed.length === 0) return others;
  return {
    _meta: Object.fromEntries(claimed),
    ...others,
    ...(modern && {
      resultType: typeof result['resultType'] === 'string' ? result['resultType'] : 'complete',
      ...(CACHEABLE.has(method) && { ttlMs: 0, cacheScope: 'private' }),
    }),
  };
}

/** The server needs input that the client cannot supply. The message says so. */
export class InputRequired extends Error {}

export const failureOf = (error: unknown): FailureReason => {
  if (error instanceof NotConnected) return 'NOT_CONNECTED';
  if (error instanceof InputRequired) return 'INPUT_REQUIRED';
  if (error instanceof RequestCancelled) return 'CANCELLED';
  if (error instanceof CallTimedOut) return 'TIMEOUT';
  return error instanceof OutcomeUnknown ? 'OUTCOME_UNKNOWN' : 'SERVER_UNAVAILABLE';
};

/**
 * Returns the failure of a tool call as a result, because the model reads results; the failure of any other request,
 * and of one that the client no longer waits for, as an error.
 */
export function failureAnswer(
  method: string,
  error: unknown,
  auditId: string | undefined,
): { readonly result: Message } | { readonly error: RpcError } {
  const reason = failureOf(error);
  const text = reason === 'NOT_CONNECTED' || reason === 'INPUT_REQUIRED' ? (error as Error).message : TEXTS[reason];
  const facts = { reason, ...(auditId !== undefined && { auditId }) };
  return method === 'tools/call' && reason !== 'CANCELLED'
    ? {
        result: {
          resultType: 'complete',
          content: [{ type: 'text', text: `${text} (${reason})` }],
          isError: true,
          _meta: facts,
        },
      }
    : { error: { code: FAILED[reason], message: text, data: facts } };
}
