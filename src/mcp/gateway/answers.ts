import { isObject, type Message, RefusedBody, type RpcError } from '../guard/json-rpc.ts';
import { REFUSED } from '../guard/refusals.ts';
import type { EventStream } from './event-stream.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, NO_SESSION } from './messages.ts';

const STATUSES: ReadonlyMap<unknown, number> = new Map([
  [METHOD_NOT_FOUND, 404],
  [MISSING_CAPABILITY, 400],
]);

/** Some errors have their own HTTP status since MCP 2026-07-28. */
export const statusOf = ([answer]: readonly Message[], isModern: boolean): number =>
  (isModern && isObject(answer?.['error']) ? STATUSES.get(answer['error']['code']) : undefined) ?? 200;

/** An answer to a client: JSON as text, or a stream. */
export type ClientAnswer =
  | Response
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> };

export const rpcError = (
  status: number,
  error: RpcError,
  id: string | number | null = null,
  headers?: Record<string, string>,
): ClientAnswer => ({ status, body: JSON.stringify({ jsonrpc: '2.0', id, error }), ...(headers && { headers }) });

export const SESSION_NOT_FOUND: RpcError = { code: NO_SESSION, message: 'Session not found' };

/** A message is refused because its session has ended. */
export class SessionNotFound extends RefusedBody {
  constructor(body: unknown) {
    super(404, SESSION_NOT_FOUND, { body });
  }
}

export const eventStream = (stream: EventStream): Response =>
  new Response(stream.body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  });

/** The answer to a method that the gateway does not have. */
export const notFound = (method: string): { readonly error: RpcError } => ({
  error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method.slice(0, 100)}` },
});

export const NOT_HEARD = { error: { code: INVALID_PARAMS, message: 'This resource cannot be listened to.' } } as const;
export const NO_URI = { error: { code: INVALID_PARAMS, message: '`uri` must be a string.' } } as const;

export const tokenRevoked = (id: string | number): Message => ({
  jsonrpc: '2.0',
  id,
  error: { code: REFUSED, message: 'The token was revoked during the call.' },
});
