import { type Connection, resultOf } from './connection.ts';
import type { GatewayServer } from './servers-file.ts';

const MAX_CHARS = 10_000_000;

/** Connects to a server over Streamable HTTP. Redirects are not followed, since headers may have secrets. */
export function openHttp(server: GatewayServer, url: string, signal: AbortSignal): Connection {
  let session: string | null = null;
  let version: string | undefined;
  let lastId = 0;
  const send = async (method: string, message?: object): Promise<Response> => {
    const headers = new Headers(server.headers);
    headers.set('accept', 'application/json, text/event-stream');
    if (session !== null) headers.set('mcp-session-id', session);
    if (version !== undefined) headers.set('mcp-protocol-version', version);
    if (message) headers.set('content-type', 'application/json');
    const body = message ? JSON.stringify({ jsonrpc: '2.0', ...message }) : null;
    try {
      return await fetch(url, { method, headers, body, signal, redirect: 'manual' });
    } catch {
      throw new Error(signal.aborted ? 'it did not answer in time' : 'it cannot be reached');
    }
  };
  return {
    request: async (method, params) => {
      const id = ++lastId;
      const response = await send('POST', { id, method, params });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`it answered with status ${response.status}`);
      }
      session ??= response.headers.get('mcp-session-id');
      const result = resultOf(await readAnswer(response, id));
      if (method === 'initialize') version = String(result['protocolVersion']);
      return result;
    },
    notify: async (method) => {
      await (await send('POST', { method })).body?.cancel();
    },
    close: async () => {
      if (session === null) return;
      // The server ends the session itself if this fails.
      await send('DELETE').then(
        (response) => response.body?.cancel(),
        () => {},
      );
    },
  };
}

/** Reads the answer to a request from a JSON body or an event stream. */
async function readAnswer(response: Response, id: number): Promise<Record<string, unknown>> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    text += decoder.decode(value, { stream: !done });
    if (text.length > MAX_CHARS) {
      await reader?.cancel();
      throw new Error('its answer is too long');
    }
    const events = text.split(/\r?\n\r?\n/);
    const candidates = isStream ? events.slice(0, -1).map(dataOf) : done ? [text] : [];
    const answer = candidates.map(parsed).find((message) => message?.['id'] === id && !('method' in message));
    if (answer) {
      if (!done) await reader?.cancel();
      return answer;
    }
    if (done) throw new Error('its answer is not MCP');
  }
}

const dataOf = (event: string): string =>
  event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5))
    .join('\n');

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
