import { type AnswerRules, answerFilter } from './filter-answer.ts';
import { BodyTooLarge, Guard, type GuardAnswer } from './guard.ts';
import type { McpAuth, ProtectMcpOptions } from './guard-options.ts';
import { UnreadableBody } from './json-rpc.ts';

/** Second argument of the handler. Compatible with the options of the MCP SDK's web transport. */
export interface McpContext {
  /** Absent: no token was sent, and none is required. */
  readonly authInfo?: McpAuth;
}

export type McpHandler = (request: Request, context: McpContext) => Response | Promise<Response>;

/**
 * Adds a login to an MCP server that uses Request and Response. Serves the metadata of the resource (RFC 9728), refuses
 * with challenges that clients can follow (RFC 6750; MCP 2026-07-28), verifies tokens, decides on tool calls, and
 * filters `tools/list`. Accepts tokens in the Authorization header only.
 *
 *     const server = await legate.mcp.registerServer({ name: 'notes', endpoint: 'https://example.com/mcp' });
 *     export default { fetch: protectMcp(handler, { legate, server }) };
 */
export function protectMcp(handler: McpHandler, options: ProtectMcpOptions): (request: Request) => Promise<Response> {
  const guard = new Guard(options);
  return (request) => guarded(guard, request, async (auth, passed) => handler(passed, auth ? { authInfo: auth } : {}));
}

/** The part of Hono's context that is used. */
interface HonoContext {
  readonly req: { readonly raw: Request; readonly bodyCache?: object; text(): Promise<string> };
  res: Response;
  set(key: string, value: unknown): void;
}

/** Middleware for Hono. Guards the path of the resource and everything below it. `c.get('authInfo')` is the caller. */
export function honoMcp(
  options: ProtectMcpOptions,
): (c: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
  const guard = new Guard(options);
  return async (c, next) => {
    const { raw } = c.req;
    if (!guard.covers(targetOf(raw)) && !guard.publicAnswer(raw.method, targetOf(raw), headerOf(raw))) {
      await next();
      return undefined;
    }
    let went = false;
    const response = await guarded(
      guard,
      raw,
      async (auth, passed) => {
        if (passed !== raw) Object.assign(c.req, { raw: passed, bodyCache: {} });
        c.set('authInfo', auth);
        await next();
        went = true;
        return c.res;
      },
      () => c.req.text(),
    );
    if (!went) return response;
    if (response !== c.res) {
      // Hono would copy the headers of the old answer over those of the new one.
      c.res = undefined as unknown as Response;
      c.res = response;
    }
    return undefined;
  };
}

const targetOf = (request: Request): string =>
  request.url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/#.*/s, '') || '/';
const headerOf =
  ({ headers, url }: Request) =>
  (name: string): string | null =>
    headers.get(name) ?? (name === 'host' ? new URL(url).host : null);

async function guarded(
  guard: Guard,
  request: Request,
  go: (auth: McpAuth | undefined, request: Request) => Promise<Response>,
  readAgain?: () => Promise<string>,
): Promise<Response> {
  const answer = guard.publicAnswer(request.method, targetOf(request), headerOf(request));
  if (answer) return respond(answer, request.method === 'HEAD');
  const verdict = await guard.judge({
    method: request.method,
    header: headerOf(request),
    isGone: () => request.signal.aborted,
    origin: { userAgent: request.headers.get('user-agent') ?? undefined },
    body: () => readBody(guard, request, { copy: true, readAgain }),
  });
  if ('answer' in verdict) return respond(verdict.answer);
  const { auth, rules, body, bindSession } = verdict.passed;
  const response = await go(auth, body === undefined ? request : withBody(request, JSON.stringify(body)));
  bindSession(response.headers.get('mcp-session-id'));
  return rules ? filtered(guard, response, rules) : withCors(guard, response);
}

export const respond = ({ status, headers, body }: GuardAnswer, head = false): Response =>
  new Response(head || status === 204 ? null : body, { status, headers });

function withBody(request: Request, body: string): Request {
  const headers = new Headers(request.headers);
  headers.delete('content-length');
  return new Request(request.url, { method: request.method, headers, body, signal: request.signal });
}

/** Reads a body: with `copy` a copy of it, so that a handler gets the original. */
export async function readBody(
  guard: Guard,
  request: Request,
  { copy, readAgain }: { readonly copy: boolean; readonly readAgain?: (() => Promise<string>) | undefined },
): Promise<{ bytes: Uint8Array } | null> {
  if (request.headers.has('content-encoding')) throw new UnreadableBody('encoded');
  const stated = request.headers.get('content-length') ?? '';
  if (Number(stated) > guard.maxBodyBytes) throw new BodyTooLarge();
  if (request.method === 'GET' || request.method === 'HEAD') return null;
  if (request.bodyUsed) {
    if (!readAgain) throw new Error('protectMcp: the body was read before the guard saw it.');
    const text = await readAgain();
    return text === '' ? null : { bytes: new TextEncoder().encode(text) };
  }
  // HTTP limits a body to its declared length. Reading it whole costs half as much as a stream.
  if (!copy && /^\d+$/.test(stated)) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.byteLength > guard.maxBodyBytes) throw new BodyTooLarge();
    return bytes.byteLength === 0 ? null : { bytes };
  }
  const { body } = copy ? request.clone() : request;
  if (!body) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > guard.maxBodyBytes) {
      void reader.cancel().catch(() => {});
      throw new BodyTooLarge();
    }
    chunks.push(value);
  }
  return size === 0 ? null : { bytes: Buffer.concat(chunks) };
}

function withCors(guard: Guard, response: Response): Response {
  const missing = Object.entries(guard.corsHeaders).filter(([name]) => !response.headers.has(name));
  if (missing.length === 0) return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of missing) headers.set(name, value);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

function filtered(guard: Guard, response: Response, rules: AnswerRules): Response {
  const open = withCors(guard, response);
  if (!open.body) return open;
  const headers = new Headers(open.headers);
  const filter = answerFilter(headers.get('content-type'), headers.get('content-encoding'), rules);
  if (filter.changes) for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  const encoder = new TextEncoder();
  /** Returns whether there was something to pass on. */
  const put = (controller: ReadableStreamDefaultController<Uint8Array>, piece: string | Uint8Array): boolean => {
    const bytes = typeof piece === 'string' ? encoder.encode(piece) : piece;
    if (bytes.byteLength > 0) controller.enqueue(bytes);
    return bytes.byteLength > 0;
  };
  const reader = open.body.getReader();
  let detach = (): void => {};
  const end = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    detach();
    controller.close();
  };
  // A TransformStream would not report that the client has closed the answer.
  const through = new ReadableStream<Uint8Array>({
    start: (controller) => {
      if (!rules.attach) return;
      detach = rules.attach((event) => {
        try {
          put(controller, event);
        } catch {
          detach();
        }
      });
    },
    pull: async (controller) => {
      try {
        for (;;) {
          const { done, value } = await reader.read();
          const piece = done ? await filter.end() : await filter.push(value);
          if (piece === null) void reader.cancel().catch(() => {});
          const isPut = piece !== null && put(controller, piece);
          if (done || piece === null) return end(controller);
          if (isPut) return;
        }
      } catch (error) {
        detach();
        void reader.cancel(error).catch(() => {});
        throw error;
      }
    },
    cancel: (reason) => {
      detach();
      return reader.cancel(reason);
    },
  });
  return new Response(through, { status: open.status, statusText: open.statusText, headers });
}
