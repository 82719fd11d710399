import { InProgress } from '../../kernel/in-progress.ts';
import { isObject, type Message, revisionOf } from '../guard/json-rpc.ts';
import { mirroredHeaders } from '../guard/mirrored-headers.ts';
import { type Access, failWith, OpenRequests, pathOf, senderTo } from './http-request.ts';
import { cancelledBy, OpenRequest } from './open-request.ts';
import { type Channel, type OpenChannel, OutcomeUnknown, SessionEnded } from './peer.ts';
import { readMessages } from './read-events.ts';
import { keepListening, type Read, readResuming } from './resume.ts';
import type { ServerAnswer } from './server-answer.ts';
import type { GatewayServer } from './servers-file.ts';
import { openSse } from './sse-server.ts';

/**
 * Status codes with which servers that only support HTTP with SSE answer `initialize` (MCP 2025-03-26, backwards
 * compatibility).
 */
const PERHAPS_SSE: ReadonlySet<number> = new Set([400, 404, 405]);

/** Longest time that the first requests wait for the stream of notifications, which a server may open late. */
const OPENING_MS = 250;

/**
 * Connects to a server over Streamable HTTP, or over HTTP with SSE if that is configured or the server supports nothing
 * else.
 */
export const openHttp =
  (server: GatewayServer, url: string, access?: Access): OpenChannel =>
  (events) => {
    const open = new OpenRequests();
    const maxChars = server.legate.limits.resultBytes;
    const limitMs = server.legate.limits.callSeconds * 1000;
    const sender = senderTo(server, url, access);
    const path = pathOf(url);
    let session: string | undefined;
    let version: string | undefined;
    /** Servers drop notifications until this stream is open, so the first requests wait for it. */
    let opening: Promise<void> | undefined;
    let older: Channel | undefined =
      server.type === 'sse' ? openSse(url, { maxChars, limitMs }, sender, events) : undefined;
    /** Whether the server has 2026-07-28, where a request is cancelled by closing its connection. */
    let isModern = false;
    /** Requests in progress, by the gateway's ids. */
    const running = new InProgress<OpenRequest>();

    const send = (method: 'GET' | 'POST' | 'DELETE', end: OpenRequest, message?: Message, more = {}) => {
      const headers = {
        accept: 'application/json, text/event-stream',
        ...(session !== undefined && { 'mcp-session-id': session }),
        ...(version !== undefined && { 'mcp-protocol-version': version }),
        ...more,
      };
      return sender.send({ method, path, headers, message, end });
    };
    /** Receives notifications that do not belong to a request, if the server offers such a stream. */
    const listen = (end: OpenRequest, opened: () => void): Promise<void> => {
      // Answers arrive only in the response to their request.
      const receive = (received: Message): void => {
        if ('method' in received) events.message(received);
      };
      // A changed list of tools is what must not be missed: calls are compared with the definitions that were listed.
      const missed = (): void => events.message({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      return keepListening(
        { opened, missed },
        (headers) => send('GET', end, undefined, headers),
        (answer, position) => readMessages(answer, maxChars, receive, () => false, position),
        end,
      );
    };
    /** Resolves when the stream is open or the wait is over. */
    const openStream = async (notified: Promise<void>): Promise<void> => {
      await notified.catch(() => {});
      await new Promise<void>((resolve) => {
        setTimeout(resolve, OPENING_MS).unref();
        open.during((end) => listen(end, resolve)).then(resolve, () => resolve());
      });
      opening = undefined;
    };
    /**
     * Passes on a JSON-RPC error that arrived with an HTTP error status. Returns false if the body is not such an
     * error.
     */
    const receiveError = async (answer: ServerAnswer, { id }: Message): Promise<boolean> => {
      if (!answer.isOf('application/json')) return false;
      const receive = ({ error }: Message): void => {
        if (isObject(error)) events.message({ jsonrpc: '2.0', id, error }, id);
      };
      return readMessages(answer, maxChars, receive, ({ error }) => isObject(error)).catch(() => false);
    };
    const request = async (message: Message, headers: Record<string, string>, end: OpenRequest): Promise<void> => {
      const { id, method } = message;
      const answer = await send('POST', end, message, headers);
      if (!answer.ok) {
        if (answer.status === 404 && session !== undefined) {
          answer.discard();
          throw new SessionEnded('its session ended');
        }
        if (session === undefined && answer.status < 500 && (await receiveError(answer, message))) return;
        if (method !== 'initialize' || !PERHAPS_SSE.has(answer.status)) return failWith(answer);
        answer.discard();
        older = openSse(url, { maxChars, limitMs }, sender, events);
        return older.send(message);
      }
      session ??= answer.header('mcp-session-id');
      const receive = (received: Message): void => {
        if ('method' in received || received['id'] === id) events.message(received, id);
      };
      const isAnswer = (received: Message): boolean => {
        if (received['id'] !== id || 'method' in received) return false;
        const { result } = received;
        if (method === 'initialize' && isObject(result) && typeof result['protocolVersion'] === 'string')
          version = result['protocolVersion'];
        return true;
      };
      const read: Read = (from, position) => readMessages(from, maxChars, receive, isAnswer, position);
      const answered = isModern
        ? await read(answer, { emptyChars: 0 })
        : await readResuming(answer, (more) => send('GET', end, undefined, more), read, end);
      if (!answered) throw new OutcomeUnknown('its answer is not MCP');
    };
    /** The server ends the session itself if this fails. */
    const endSession = async (): Promise<void> => {
      const own = new OpenRequest();
      // It may also have to wait for a token.
      const isOver = new Promise<void>((resolve) => own.onEnd(resolve));
      const tooLate = setTimeout(() => own.end(), 2000);
      const answered = send('DELETE', own).then(
        (answer) => answer.discard(),
        () => {},
      );
      await Promise.race([answered, isOver]);
      clearTimeout(tooLate);
    };
    return {
      send: async (message, headers = {}) => {
        if (older) return older.send(message);
        const { id, method } = message;
        const cancelled = cancelledBy(message, running);
        if (cancelled) {
          if (isModern || !cancelled.isSent) return cancelled.end();
          cancelled.isCancelled = true;
        }
        if (id === undefined || method === undefined) {
          const notified = open.during(async (end) => {
            const answer = await send('POST', end, message);
            if (!answer.ok) return failWith(answer);
            return answer.discard();
          }, limitMs);
          if (method === 'notifications/initialized') opening = openStream(notified);
          try {
            await notified;
          } finally {
            // A server may never answer a cancelled request, and leave the connection open.
            cancelled?.end();
          }
          return;
        }
        const own = open.begin();
        isModern = revisionOf(message) !== undefined;
        running.set(Number(id), own);
        try {
          if (opening && method !== 'initialize') await opening;
          await request(message, isModern ? { ...mirroredHeaders(message), ...headers } : {}, own);
        } finally {
          running.delete(Number(id));
          open.done(own);
        }
      },
      close: async () => {
        open.end();
        await older?.close();
        if (session !== undefined) await endSession();
        await sender.close();
      },
    };
  };
