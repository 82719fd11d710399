import { CommonErrors, LegateError, validationFailed } from '../../kernel/errors.ts';
import type { Authenticator, Proof } from '../authenticate.ts';
import { withHeaders } from '../rate-limit/index.ts';
import type { Rendered } from '../render-error.ts';
import type { Source } from './source.ts';

/** A web-standard Request, answered by a Response. */
export class WebSource implements Source<Response> {
  readonly startedAt = performance.now();
  readonly request: Request;
  readonly method: string;
  readonly remoteAddress: string | null;
  #url: URL | undefined;

  constructor(request: Request, remoteAddress: string | undefined) {
    this.request = request;
    this.method = request.method;
    this.remoteAddress = remoteAddress ?? null;
  }

  get url(): URL {
    return (this.#url ??= new URL(this.request.url));
  }

  get pathname(): string {
    return this.url.pathname;
  }

  get query(): string {
    const { url } = this.request;
    const start = url.indexOf('?');
    return start === -1 ? '' : url.slice(start + 1);
  }

  get hasBody(): boolean {
    return this.request.body !== null && this.header('content-length') !== '0';
  }

  header(name: string): string | null {
    return this.request.headers.get(name);
  }

  prove(authenticator: Authenticator): Promise<Proof> {
    return authenticator.authenticate(this.request);
  }

  async body(limit: number): Promise<Uint8Array> {
    if (this.request.bodyUsed)
      throw new Error('The body was read by somebody else: call fetch before anything reads the body.');
    try {
      return await this.#read(limit);
    } catch (error) {
      // A TypeError means that the body cannot be read at all, for example because a framework holds a reader of it.
      if (error instanceof LegateError || error instanceof TypeError) throw error;
      throw validationFailed([{ path: '', message: 'the connection ended before the body was complete' }]);
    }
  }

  async #read(limit: number): Promise<Uint8Array> {
    const stated = this.header('content-length') ?? '';
    if (Number(stated) > limit) throw CommonErrors.PAYLOAD_TOO_LARGE({ details: { limit } });
    // HTTP limits a body to its declared length. Reading it whole costs half as much as a stream.
    if (/^\d+$/.test(stated)) {
      const bytes = new Uint8Array(await this.request.arrayBuffer());
      if (bytes.byteLength > limit) throw CommonErrors.PAYLOAD_TOO_LARGE({ details: { limit } });
      return bytes;
    }
    if (!this.request.body) return new Uint8Array();
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of this.request.body as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > limit) throw CommonErrors.PAYLOAD_TOO_LARGE({ details: { limit } });
      chunks.push(chunk);
    }
    return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
  }

  onAbort(listener: () => void): void {
    const { signal } = this.request;
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
  }

  send(answer: Rendered | Response, requestId: string): Response {
    if (answer instanceof Response) return withHeaders(answer, { 'x-request-id': requestId });
    const headers = answer.own ? { ...answer.headers, ...answer.own } : answer.headers;
    const response = new Response(answer.body, { status: answer.status, headers });
    response.headers.set('x-request-id', requestId);
    for (const cookie of answer.cookies ?? []) response.headers.append('set-cookie', cookie);
    return response;
  }
}
