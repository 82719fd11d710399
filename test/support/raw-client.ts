import type { Json, TestAgent, TestService } from './service.ts';
import { Stream } from './stream.ts';

const CAPABLE = { elicitation: {}, sampling: {}, roots: {} };

/**
 * A client of 2025-11-25 without an SDK, connected to a server of the gateway. Every request of every client has the id
 * 1.
 */
export class RawClient {
  readonly #t: TestService;
  readonly #as: TestAgent;
  readonly #path: string;
  #session = '';
  /** The capabilities of the server. */
  capabilities: Json;

  constructor(t: TestService, as: TestAgent, server: string) {
    this.#t = t;
    this.#as = as;
    this.#path = `${t.legate.platform.baseUrl}/gateway/${server}/mcp`;
  }

  #send(method: 'GET' | 'POST', message?: Json): Promise<Response> {
    const headers = {
      authorization: `Bearer ${this.#as.token}`,
      accept: 'application/json, text/event-stream',
      ...(message && { 'content-type': 'application/json' }),
      ...(this.#session !== '' && { 'mcp-session-id': this.#session }),
    };
    const body = message ? JSON.stringify({ jsonrpc: '2.0', ...message }) : null;
    return this.#t.legate.fetch(new Request(this.#path, { method, headers, body }), { remoteAddress: '127.0.0.1' });
  }

  post(message: Json): Promise<Response> {
    return this.#send('POST', message);
  }

  async open(capabilities: Json = CAPABLE): Promise<this> {
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'raw', version: '1' } };
    const response = await this.post({ id: 1, method: 'initialize', params });
    this.#session = response.headers.get('mcp-session-id') as string;
    this.capabilities = ((await response.json()) as Json).result?.capabilities;
    return this;
  }

  /** Opens the stream of the session. */
  async listen(): Promise<Stream> {
    return new Stream(await this.#send('GET'));
  }

  /** Sends a request and returns its response, which is not a stream. */
  async request(method: string, params: Json = {}): Promise<Json> {
    return (await this.post({ id: 1, method, params })).json();
  }

  /** Sends a call and returns its response or the messages on its stream. */
  async call(
    name: string,
    args: Json = {},
    more: Json = {},
  ): Promise<{ next: () => Promise<Json>; end: () => Promise<void> }> {
    const response = await this.post({ id: 1, method: 'tools/call', params: { name, arguments: args, ...more } });
    if (response.headers.get('content-type')?.startsWith('application/json'))
      return { next: () => response.json() as Promise<Json>, end: async () => {} };
    const stream = new Stream(response);
    let seen = 0;
    const next = async (): Promise<Json> => {
      const events = await stream.events(++seen);
      return events[seen - 1]?.data;
    };
    return { next, end: () => stream.close() };
  }
}
