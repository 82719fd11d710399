import { isObject, type Message, revisionOf } from '../guard/json-rpc.ts';
import { mirroredHeaders } from '../guard/mirrored-headers.ts';
import { type Bearer, failWith, OpenRequests, senderTo } from './http-request.ts';
import { type Channel, type OpenChannel, OutcomeUnknown } from './peer.ts';
import { readMessages } from './read-events.ts';
import type { GatewayServer } from './servers-file.ts';
import { openSse } from './sse-server.ts';

/** Answers to `initialize` of servers that have HTTP with SSE only (MCP 2025-03-26, backwards compatibility). */
const PERHAPS_SSE: ReadonlySet<number> = new Set([400, 404, 405]);

/** Connects to a server over Streamable HTTP, or over HTTP with SSE if it is configured or offers nothing else. */
export const openHttp =
  (server: GatewayServer, url: string, bearer?: Bearer): OpenChannel =>
  (events) => {
    const open = new OpenRequests();
    const maxChars = server.legate.limits.resultBytes;
    const sendTo = senderTo(server, bearer);
    let session: string | null = null;
    let version: string | undefined;
    let older: Channel | undefined = server.type === 'sse' ? openSse(url, maxChars, sendTo, events) : undefined;
    /** Requests of 2026-07-28 in progress, which are cancelled by closing the response. */
    const running = new Map<unknown, AbortController>();

    const send = (method: 'GET' | 'POST' | 'DELETE', signal: AbortSignal, message?: Message, more = {}) => {
      const headers = {
        accept: 'application/json, text/event-stream',
        ...(session !== null && { 'mcp-session-id': session }),
        ...(version !== undefined && { 'mcp-protocol-version': version }),
        ...more,
      };
      return sendTo({ method, url, headers, message, signal });
    };
    /** Notifications that belong to no request arrive here, if the server offers such a stream. */
    const listen = async ({ signal }: AbortController): Promise<void> => {
      const response = await send('GET', signal);
      // Answers come on the response to their request only.
      const receive = (received: Message): void => {
        if ('method' in received) events.message(received);
      };
      if (response.ok) await readMessages(response, maxChars, receive, () => false);
      else await response.body?.cancel();
    };
    /** Passes on an error that came with a status of its own. Returns false if the body is not such an error. */
    const receiveError = async (response: Response, { id }: Message): Promise<boolean> => {
      if (!response.headers.get('content-type')?.startsWith('application/json')) return false;
      const receive = ({ error }: Message): void => events.message({ jsonrpc: '2.0', id, error }, id);
      return readMessages(response, maxChars, receive, ({ error }) => isObject(error)).catch(() => false);
    };
    const request = async (message: Message, headers: Record<string, string>, signal: AbortSignal): Promise<void> => {
      const { id, method } = message;
      const response = await send('POST', signal, message, headers);
      if (!response.ok) {
        // The session has ended, so the next request needs another one.
        if (response.status === 404 && session !== null) events.ended(new Error('its session ended'));
        else if (session === null && response.status < 500 && (await receiveError(response, message))) return;
        if (method !== 'initialize' || !PERHAPS_SSE.has(response.status)) return failWith(response);
        if (!response.bodyUsed) await response.body?.cancel();
        older = openSse(url, maxChars, sendTo, events);
        return older.send(message);
      }
      session ??= response.headers.get('mcp-session-id');
      const receive = (received: Message): void => {
        if ('method' in received || received['id'] === id) events.message(received, id);
      };
      const answered = await readMessages(response, maxChars, receive, (received) => {
        if (received['id'] !== id || 'method' in received) return false;
        const { result } = received;
        if (method === 'initialize' && isObject(result)) version = String(result['protocolVersion']);
        return true;
      });
      if (!answered) throw new OutcomeUnknown('its answer is not MCP');
    };
    return {
      send: async (message, headers = {}) => {
        if (older) return older.send(message);
        const { id, method } = message;
        if (method === 'notifications/cancelled' && isObject(message['params'])) {
          const own = running.get(message['params']['requestId']);
          if (own) return own.abort();
        }
        if (id === undefined || method === undefined) {
          await open.during(async ({ signal }) => {
            const response = await send('POST', signal, message);
            if (!response.ok) return failWith(response);
            return response.body?.cancel();
          });
          if (method === 'notifications/initialized') open.during(listen).catch(() => {});
          return;
        }
        await open.during(async (own) => {
          if (revisionOf(message) === undefined) return request(message, {}, own.signal);
          running.set(id, own);
          try {
            return await request(message, { ...mirroredHeaders(message), ...headers }, own.signal);
          } finally {
            running.delete(id);
          }
        });
      },
      close: async () => {
        open.end();
        await older?.close();
        if (session === null) return;
        // The server ends the session itself if this fails.
        await send('DELETE', AbortSignal.timeout(2000)).then(
          (response) => response.body?.cancel(),
          () => {},
        );
      },
    };
  };
