import { isObject, type Message, paramsOf, revisionOf } from './json-rpc.ts';

/** Error code of MCP 2026-07-28: headers and body of a request do not agree. */
export const HEADER_MISMATCH = -32020;

/** The parameter that `Mcp-Name` repeats, by method (MCP 2026-07-28, Streamable HTTP). */
const NAMED_BY: ReadonlyMap<unknown, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Returns undefined if the encoding is invalid. */
function decoded(value: string): string | undefined {
  const base64 = ENCODED.exec(value)?.[1];
  if (base64 === undefined) return value.startsWith('=?base64?') ? undefined : value;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') !== base64) return undefined;
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Returns the header that differs from the body, or undefined if all match. A proxy may decide by the header while the
 * server acts on the body, so they must agree. Absent headers and `Mcp-Param-*` are left to the server.
 */
export function differingHeader(header: (name: string) => string | null, body: unknown): string | undefined {
  const method = header('mcp-method');
  const name = header('mcp-name');
  const message = isObject(body) ? body : {};
  if (method !== null && method !== message['method']) return 'Mcp-Method';
  const member = NAMED_BY.get(message['method']);
  if (name !== null && member !== undefined && decoded(name) !== paramsOf(message)[member]) return 'Mcp-Name';
  const revision = revisionOf(message);
  const stated = header('mcp-protocol-version');
  return revision !== undefined && stated !== null && stated !== revision ? 'MCP-Protocol-Version' : undefined;
}

/** Returns the first header that a request of 2026-07-28 lacks, or undefined if it has all. */
export function missingHeader(header: (name: string) => string | null, message: Message): string | undefined {
  if (header('mcp-protocol-version') === null) return 'MCP-Protocol-Version';
  if (header('mcp-method') === null) return 'Mcp-Method';
  const member = NAMED_BY.get(message['method']);
  const isNamed = member !== undefined && typeof paramsOf(message)[member] === 'string';
  return isNamed && header('mcp-name') === null ? 'Mcp-Name' : undefined;
}

/** Returns a value as the text of a header. */
export const encoded = (value: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?')
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`;

/** Returns the headers that repeat parts of a request. */
export function mirroredHeaders(message: Message): Record<string, string> {
  const member = NAMED_BY.get(message['method']);
  const name = member === undefined ? undefined : paramsOf(message)[member];
  return {
    'mcp-protocol-version': String(revisionOf(message)),
    'mcp-method': String(message['method']),
    ...(typeof name === 'string' && { 'mcp-name': encoded(name) }),
  };
}
