import { isObject, type Message } from '../guard/json-rpc.ts';
import { type OpenChannel, OutcomeUnknown, ServerUnavailable } from './peer.ts';
import type { GatewayServer } from './servers-file.ts';

/** Errors of a connection on which nothing was sent yet. */
const NOT_SENT = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
]);

/** Returns the token to send; after a refusal, another one than the refused. Throws {@link ServerUnavailable}. */
export type Bearer = (refused?: string) => Promise<string>;

/** Connects to a server over Streamable HTTP. Redirects are not followed, since headers may have secrets. */
export const openHttp =
  (server: GatewayServer, url: string, bearer?: Bearer): OpenChannel =>
  (events) => {
    const closing = new AbortController();
    const maxChars = server.legate.limits.resultBytes;
    let session: string | null = null;
    let version: string | undefined;
    const send = async (method: string, message?: Message): Promise<Response> => {
      const token = await bearer?.();
      const response = await sendOnce(method, message, token);
      if (!bearer || response.status !== 401) return response;
      // A request that was refused for its token did not run.
      await response.body?.cancel();
      return sendOnce(method, message, await bearer(token));
    };
    const sendOnce = async (
      method: string,
      message: Message | undefined,
      token: string | undefined,
    ): Promise<Response> => {
      const headers = new Headers(server.headers);
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
      headers.set('accept', 'application/json, text/event-stream');
      if (session !== null) headers.set('mcp-session-id', session);
      if (version !== undefined) headers.set('mcp-protocol-version', version);
      if (message) headers.set('content-type', 'application/json');
      const body = message ? JSON.stringify(message) : null;
      const signal = method === 'DELETE' ? AbortSignal.timeout(2000) : closing.signal;
      try {
        return await fetch(url, { method, headers, body, signal, redirect: 'manual' });
      } catch (error) {
        const { code } = ((error as Error).cause ?? {}) as { code?: string };
        if (code !== undefined && NOT_SENT.has(code)) throw new ServerUnavailable(`it cannot be reached: ${code}`);
        throw new OutcomeUnknown('the connection broke');
      }
    };
    const refuse = async (response: Response): Promise<never> => {
      await response.body?.cancel();
      // The session has ended, so the next request needs another one.
      if (response.status === 404 && session !== null) events.ended(new Error('its session ended'));
      const message = `it answered with status ${response.status}`;
      throw response.status < 500 ? new ServerUnavailable(message) : new OutcomeUnknown(message);
    };
    /** Notifications that belong to no request arrive here, if the server offers such a stream. */
    const listen = async (): Promise<void> => {
      const response = await send('GET');
      if (response.ok) await readMessages(response, maxChars, events.message, () => false);
      else await response.body?.cancel();
    };
    return {
      send: async (message) => {
        const response = await send('POST', message);
        if (!response.ok) return refuse(response);
        if (message['id'] === undefined || message['method'] === undefined) {
          await response.body?.cancel();
          if (message['method'] === 'notifications/initialized') listen().catch(() => {});
          return;
        }
        session ??= response.headers.get('mcp-session-id');
        const receive = (received: Message): void => events.message(received, message['id']);
        const answered = await readMessages(response, maxChars, receive, (received) => {
          if (received['id'] !== message['id'] || 'method' in received) return false;
          const { result } = received;
          if (message['method'] === 'initialize' && isObject(result)) version = String(result['protocolVersion']);
          return true;
        });
        if (!answered) throw new OutcomeUnknown('its answer is not MCP');
      },
      close: async () => {
        closing.abort();
        if (session === null) return;
        // The server ends the session itself if this fails.
        await send('DELETE').then(
          (response) => response.body?.cancel(),
          () => {},
        );
      },
    };
  };

/** Reads messages from a JSON body or an event stream, up to and including the last one. Returns whether it came. */
async function readMessages(
  response: Response,
  maxChars: number,
  receive: (message: Message) => void,
  isLast: (message: Message) => boolean,
): Promise<boolean> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = (await reader?.read().catch(() => {
      throw new OutcomeUnknown('the connection broke');
    })) ?? { done: true, value: undefined };
    text += decoder.decode(value, { stream: !done });
    if (text.length > maxChars) {
      await reader?.cancel();
      throw new OutcomeUnknown('its answer is too long');
    }
    const parts = isStream ? text.split(/\r?\n\r?\n/) : [text];
    if (isStream) text = parts.pop() as string;
    for (const message of isStream ? parts.map(dataOf).flatMap(parsed) : done ? parsed(text) : []) {
      const last = isLast(message);
      receive(message);
      if (!last) continue;
      if (!done) await reader?.cancel();
      return true;
    }
    if (done) return false;
  }
}

const dataOf = (event: string): string =>
  event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5))
    .join('\n');

function parsed(text: string): Message[] {
  try {
    const value: unknown = JSON.parse(text);
    return (Array.isArray(value) ? value : [value]).filter(isObject);
  } catch {
    return [];
  }
}
