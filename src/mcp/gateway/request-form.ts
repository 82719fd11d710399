import { isJson } from '../../http/media-type.ts';
import { asksOf } from '../guard/asks.ts';
import {
  hasNoRequest,
  isObject,
  META_CAPABILITIES,
  META_VERSION,
  type Message,
  messagesOf,
  metaOf,
  RefusedBody,
  type RpcError,
} from '../guard/json-rpc.ts';
import { HEADER_MISMATCH, missingHeader } from '../guard/mirrored-headers.ts';
import { taskIdsOf } from '../guard/tasks.ts';
import { INVALID_PARAMS, INVALID_REQUEST, MODERN_REVISION, REVISIONS, UNSUPPORTED_REVISION } from './messages.ts';

type Header = (name: string) => string | null;

const NOT_JSON: RpcError = { code: INVALID_REQUEST, message: 'The content type must be application/json.' };
const NO_MESSAGE: RpcError = { code: INVALID_REQUEST, message: 'The body is not a JSON-RPC message.' };
const NO_ID: RpcError = { code: INVALID_REQUEST, message: 'A request must have an id.' };
const NO_BATCHES: RpcError = {
  code: INVALID_REQUEST,
  message: `Messages of ${MODERN_REVISION} cannot be sent as a batch.`,
};
const INITIALIZE_IS_OLDER: RpcError = {
  code: HEADER_MISMATCH,
  message: `MCP-Protocol-Version is ${MODERN_REVISION}, but \`initialize\` belongs to earlier revisions.`,
};

/** Throws {@link RefusedBody} with 415 if the body has another media type than JSON, or none. */
export function assertJson(header: Header): void {
  if (!isJson(header('content-type'))) throw new RefusedBody(415, NOT_JSON);
}

/**
 * Throws {@link RefusedBody} with 400 if a body is not a message of JSON-RPC, or a batch of messages, or is not a
 * request in the form of the revision that it or its headers name. The rules are those of the official SDK for servers,
 * which ignores a request without an id; here it must not be decided, because it would not be carried out.
 */
export function assertForm(header: Header, body: unknown): void {
  const isBatch = Array.isArray(body);
  const problem =
    (isBatch ? batchProblem(header, body) : isMessage(body) ? revisionProblem(header, body) : NO_MESSAGE) ??
    (messagesOf(body).some(lacksId) ? NO_ID : undefined);
  if (problem) throw new RefusedBody(400, problem, isBatch && !hasNoRequest(body) ? {} : { body });
}

/** Whether a request that would be decided has no id (MCP: requests must have one). */
const lacksId = (message: Message): boolean =>
  message['id'] === undefined && (asksOf(message).length > 0 || taskIdsOf(message).length > 0);

function batchProblem(header: Header, body: readonly unknown[]): RpcError | undefined {
  if (body.length === 0 || !body.every(isMessage)) return NO_MESSAGE;
  const stated = header('mcp-protocol-version');
  if (stated === MODERN_REVISION || body.some((message) => META_VERSION in metaOf(message))) return NO_BATCHES;
  return stated === null || REVISIONS.includes(stated) ? undefined : unsupported(stated);
}

/** Ids that JSON changes, such as large numbers, cannot be answered (MCP: a string or an integer). */
const isId = (id: unknown): boolean => typeof id === 'string' || Number.isSafeInteger(id);

/** Whether a value is a request, a notification or a response (JSON-RPC 2.0, sections 4 and 5). */
function isMessage(value: unknown): value is Message {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return false;
  const { id, method, params, result, error } = value;
  if (method !== undefined) {
    const isAlone = result === undefined && error === undefined;
    return typeof method === 'string' && (id === undefined || isId(id)) && hasObjects(params) && isAlone;
  }
  if (error === undefined) return isObject(result) && isId(id);
  const isError = isObject(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string';
  return isError && result === undefined && (id === undefined || id === null || isId(id));
}

/** Whether parameters and their metadata are objects, if there are any. */
const hasObjects = (params: unknown): boolean =>
  params === undefined || (isObject(params) && (params['_meta'] === undefined || isObject(params['_meta'])));

/** A header that differs from the body is left to the guard. */
function revisionProblem(header: Header, message: Message): RpcError | undefined {
  const stated = header('mcp-protocol-version');
  const meta = metaOf(message);
  const isRequest = message['method'] !== undefined && message['id'] !== undefined;
  if (!(META_VERSION in meta)) {
    if (stated === null) return undefined;
    if (!REVISIONS.includes(stated)) return unsupported(stated);
    if (stated !== MODERN_REVISION || !isRequest) return undefined;
    return message['method'] === 'initialize' ? INITIALIZE_IS_OLDER : malformed(META_VERSION);
  }
  const named = meta[META_VERSION];
  if (typeof named !== 'string') return malformed(META_VERSION);
  if (isRequest && !isObject(meta[META_CAPABILITIES])) return malformed(META_CAPABILITIES);
  if (stated !== null && stated !== named) return undefined;
  if (named !== MODERN_REVISION) return unsupported(named);
  const missing = isRequest ? missingHeader(header, message) : undefined;
  return missing === undefined ? undefined : { code: HEADER_MISMATCH, message: `The header ${missing} is missing.` };
}

const malformed = (key: string): RpcError => ({
  code: INVALID_PARAMS,
  message: `\`${key}\` in \`_meta\` is missing or malformed.`,
});

/** Revisions before 2026-07-28 begin with `initialize`, and are not supported in `_meta`. */
const unsupported = (requested: string): RpcError => ({
  code: UNSUPPORTED_REVISION,
  message: 'This protocol revision is not supported.',
  data: { supported: REVISIONS.filter((one) => one !== requested), requested },
});
