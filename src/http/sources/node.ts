import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline as pipe, Readable } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Platform } from '../../platform.ts';
import type { MountedRoute } from '../app.ts';
import type { Authenticator, Proof } from '../authenticate.ts';
import { headersFor } from '../cross-origin.ts';
import type { Endpoint, Pipeline } from '../pipeline.ts';
import type { Rendered } from '../render-error.ts';
import type { Source } from './source.ts';

const NO_BYTES = Buffer.alloc(0);

/** A request of node:http, answered without Request and Response objects, which cost more than most answers. */
class NodeSource implements Source<void> {
  readonly startedAt: number;
  readonly method: string;
  readonly remoteAddress: string | null;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #body: Buffer;
  readonly #added: readonly string[];

  /** @param added names and values in turn of headers that every answer at the path has */
  constructor(req: IncomingMessage, res: ServerResponse, startedAt: number, body: Buffer, added: readonly string[]) {
    this.startedAt = startedAt;
    this.method = req.method as string;
    this.remoteAddress = req.socket.remoteAddress ?? null;
    this.#req = req;
    this.#res = res;
    this.#body = body;
    this.#added = added;
  }

  get url(): URL {
    return new URL(this.#req.url as string, `http://${this.#req.headers.host}`);
  }

  get request(): Request {
    const headers = Object.entries(this.#req.headers).map(([name, value]): [string, string] => [name, String(value)]);
    return new Request(this.url, {
      method: this.method,
      headers,
      ...(this.#body.length > 0 ? { body: new Uint8Array(this.#body) } : {}),
    });
  }

  /** Addresses on the fast path are literal. */
  get pathname(): string {
    return this.#req.url as string;
  }

  /** Addresses on the fast path are without one. */
  get query(): string {
    return '';
  }

  get hasBody(): boolean {
    return this.#body.length > 0;
  }

  header(name: string): string | null {
    return (this.#req.headers[name] as string | undefined) ?? null;
  }

  prove(authenticator: Authenticator, remembered: boolean): Proof | Promise<Proof> {
    const { headers, socket } = this.#req;
    const { authorization, cookie } = headers;
    if (!authenticator.canProve(authorization, cookie)) return authenticator.authenticate(this.request);
    return remembered && authorization !== undefined
      ? authenticator.cachedBearer(authorization, socket)
      : authenticator.provenOn(socket, authorization, cookie);
  }

  body(): Buffer {
    return this.#body;
  }

  onAbort(listener: () => void): void {
    const res = this.#res;
    const closed = (): void => {
      if (!res.writableFinished) listener();
    };
    if (res.destroyed) closed();
    else res.once('close', closed);
  }

  send(answer: Rendered | Response, requestId: string): void {
    if (answer instanceof Response) this.#sendResponse(answer, requestId);
    else this.#write(answer, requestId);
  }

  /** Sends head and body in one write. The length is known, so there is no chunked encoding. */
  #write({ status, headers, own, cookies, body }: Rendered, requestId: string): void {
    const res = this.#res;
    const head = pairsOf(headers).slice();
    head.push('x-request-id', requestId, ...this.#added);
    for (const name in own) head.push(name, own[name] as string);
    for (const cookie of cookies ?? []) head.push('set-cookie', cookie);
    if (body === null) {
      res.writeHead(status, head);
      res.end();
      return;
    }
    head.push('content-length', String(Buffer.byteLength(body)));
    res.writeHead(status, head);
    res.socket?.cork();
    res.write(body);
    res.socket?.uncork();
    res.end();
  }

  /** Sends a stream as it arrives, and ends it if the client disconnects. */
  #sendResponse({ status, headers, body }: Response, requestId: string): void {
    const res = this.#res;
    res.writeHead(status, [...[...headers].flat(), 'x-request-id', requestId, ...this.#added]);
    if (!body) {
      res.end();
      return;
    }
    res.flushHeaders();
    pipe(Readable.fromWeb(body as NodeReadableStream), res, () => {});
  }
}

const pairs = new WeakMap<Readonly<Record<string, string>>, string[]>();

/** Returns names and values in turn. Cached, because most answers share one object of headers. */
function pairsOf(headers: Readonly<Record<string, string>>): string[] {
  let flat = pairs.get(headers);
  if (!flat) {
    flat = Object.entries(headers).flat();
    pairs.set(headers, flat);
  }
  return flat;
}

interface FastEndpoint {
  readonly endpoint: Endpoint;
  readonly added: readonly string[];
}

interface PostEndpoint extends FastEndpoint {
  /** Largest body in bytes. */
  readonly limit: number;
}

interface Found {
  readonly post: PostEndpoint;
  readonly params: Readonly<Record<string, string>>;
}

const NO_PARAMS: Readonly<Record<string, string>> = {};

/** Values of parameters that need no decoding. Others are left to the web source. */
const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path.replace(/:(\w+)|[^:]+/g, (part, name: string | undefined) =>
      name === undefined ? part.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&') : `(?<${name}>[\\w.~-]+)`,
    )}$`,
  );

/**
 * Answers routes declared with `fastPath` directly on node:http. The returned function returns false for other
 * requests, which the web source then answers with the same result.
 */
export function nodeSource(
  { config }: Pick<Platform, 'config'>,
  mounted: readonly MountedRoute[],
  authenticator: Authenticator,
  pipeline: Pipeline,
): (req: IncomingMessage, res: ServerResponse) => boolean {
  const { trustedOrigins } = config.http;
  // Requests with an Origin are left to the web source.
  const added = (path: string): string[] => [
    ...(mounted.some((each) => each.path === path && each.route.crossOrigin)
      ? Object.entries(headersFor('anyone')).flat()
      : []),
    ...(trustedOrigins.length > 0 ? ['vary', 'Origin'] : []),
  ];
  const gets = new Map<string, FastEndpoint>();
  const posts = new Map<string, PostEndpoint>();
  const patterns: { readonly pattern: RegExp; readonly post: PostEndpoint }[] = [];
  for (const { route, path } of mounted.filter(({ route }) => route.fastPath)) {
    const fast = { endpoint: pipeline.endpoint(path, route), added: added(path) };
    const post = { ...fast, limit: route.bodyLimit ?? config.http.bodyLimit };
    if (route.method === 'GET' && !path.includes(':')) gets.set(path, fast);
    else if (route.method !== 'POST') throw new Error(`${route.method} ${path} cannot have a fast path.`);
    else if (path.includes(':')) patterns.push({ pattern: patternOf(path), post });
    else posts.set(path, post);
  }
  const findPost = (url: string): Found | undefined => {
    const post = posts.get(url);
    if (post) return { post, params: NO_PARAMS };
    for (const { pattern, post } of patterns) {
      const params = pattern.exec(url)?.groups;
      if (params) return { post, params };
    }
    return undefined;
  };

  const get = (req: IncomingMessage, res: ServerResponse): boolean => {
    const found = gets.get(req.url as string);
    const { headers } = req;
    if (
      !found ||
      headers['content-length'] !== undefined ||
      headers['transfer-encoding'] !== undefined ||
      !isPlain(req) ||
      !authenticator.canProve(headers.authorization, headers.cookie)
    )
      return false;
    void pipeline.answer(found.endpoint, new NodeSource(req, res, performance.now(), NO_BYTES, found.added));
    return true;
  };

  const post = (req: IncomingMessage, res: ServerResponse): boolean => {
    const found = findPost(req.url as string);
    const { authorization, 'content-length': length } = req.headers;
    if (
      !found ||
      !(Number(length) >= 0) ||
      Number(length) > found.post.limit ||
      !isPlain(req) ||
      // Cookies are left to the web source, which checks the origin of the request.
      (found.post.endpoint.route.access !== 'public' &&
        (authorization === undefined || !authenticator.canProve(authorization, undefined)))
    )
      return false;
    const startedAt = performance.now();
    let whole: Buffer | undefined;
    let parts: Buffer[] | undefined;
    req.on('data', (chunk: Buffer) => {
      if (!whole) whole = chunk;
      else {
        parts ??= [whole];
        parts.push(chunk);
      }
    });
    req.on('end', () => {
      const body = parts ? Buffer.concat(parts) : (whole ?? NO_BYTES);
      const { endpoint, added } = found.post;
      void pipeline.answer(endpoint, new NodeSource(req, res, startedAt, body, added), found.params);
    });
    return true;
  };

  return (req, res) => (req.method === 'POST' ? post(req, res) : req.method === 'GET' && get(req, res));
}

/**
 * Whether the request has a valid Host, no Origin (which may need CORS headers), and no important header twice: Node
 * would keep the first, but both are refused elsewhere.
 */
function isPlain({ headers, rawHeaders }: IncomingMessage): boolean {
  if (headers.origin !== undefined || !/^[\w.:[\]-]+$/.test(headers.host ?? '')) return false;
  let credentials = 0;
  let types = 0;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 13) {
      if (name.toLowerCase() === 'authorization') credentials++;
    } else if (name.length === 6) {
      if (name.toLowerCase() === 'cookie') credentials++;
    } else if (name.length === 12) {
      if (name.toLowerCase() === 'content-type') types++;
    } else if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return credentials <= 1 && types <= 1 && hosts <= 1;
}
