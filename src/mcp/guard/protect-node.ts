import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { type AnswerFilter, type AnswerRules, answerFilter } from './filter-answer.ts';
import { BodyTooLarge, Guard, type GuardAnswer, type GuardedRequest } from './guard.ts';
import type { McpAuth, ProtectMcpOptions } from './guard-options.ts';
import { UnreadableBody } from './json-rpc.ts';

/** A request of Express. `auth` is the caller, as with the MCP SDK's own middleware. */
type ExpressRequest = IncomingMessage & { originalUrl?: string; body?: unknown; auth?: McpAuth | undefined };

/**
 * Middleware for Express. Guards the path of the resource and everything below it. Works before or after a body parser.
 */
export function expressMcp(
  options: ProtectMcpOptions,
): (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void {
  const guard = new Guard(options);
  return (request, res, next) => {
    const req = request as ExpressRequest;
    void pass(guard, req, res, req.originalUrl ?? req.url ?? '/', () => bodyOf(guard, req)).then(
      (auth) => {
        if (auth === 'answered') return;
        req.auth = auth;
        next();
      },
      (error: unknown) => next(error),
    );
  };
}

/** The part of a Fastify instance that is used. */
interface FastifyInstanceLike {
  readonly decorateRequest: (...args: never[]) => unknown;
  readonly addHook: (...args: never[]) => unknown;
}
interface Hooks {
  decorateRequest(name: string, value: unknown): unknown;
  addHook(
    name: 'onRequest' | 'preHandler',
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown;
}
interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly originalUrl: string;
  readonly body?: unknown;
  authInfo?: McpAuth | undefined;
}
interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/**
 * A plugin for Fastify. Guards the path of the resource and everything below it in the whole server. `request.authInfo`
 * is the caller.
 */
export function fastifyMcp(options: ProtectMcpOptions): (fastify: FastifyInstanceLike) => Promise<void> {
  const guard = new Guard(options);
  const plugin = async (instance: FastifyInstanceLike): Promise<void> => {
    const fastify = instance as unknown as Hooks;
    fastify.decorateRequest('authInfo', null);
    // Fastify parses the body between these hooks. Requests with token and body are decided in the second, others in
    // the first.
    const judge = async (
      request: FastifyRequestLike,
      reply: FastifyReplyLike,
      body: GuardedRequest['body'],
    ): Promise<unknown> => {
      const auth = await pass(guard, request.raw, reply.raw, request.originalUrl, body);
      if (auth === 'answered') return reply.hijack();
      request.authInfo = auth;
      return undefined;
    };
    const waits = ({ raw }: FastifyRequestLike): boolean =>
      bodyIsComing(raw) && raw.headers.authorization !== undefined;
    fastify.addHook('onRequest', async (request, reply) =>
      waits(request) ? undefined : judge(request, reply, async () => null),
    );
    fastify.addHook('preHandler', async (request, reply) =>
      waits(request) ? judge(request, reply, async () => parsedBody(request)) : undefined,
    );
  };
  // Applies to the whole server instead of this plugin only (fastify-plugin).
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true });
}

/** Returns the body that Fastify has parsed. Any other body could be a call, which the guard would not see. */
function parsedBody({ raw, body }: FastifyRequestLike): { readonly parsed: unknown } {
  const isUnparsed = typeof body === 'string' || body instanceof Uint8Array || body instanceof Readable;
  if (body !== undefined && !isUnparsed) return { parsed: body };
  if (!/\bjson\b/i.test(raw.headers['content-type'] ?? '')) throw new UnreadableBody('another media type');
  throw new Error('fastifyMcp: the body was not parsed as JSON before the guard saw it.');
}

/** Returns 'answered' if the guard has sent the answer. */
async function pass(
  guard: Guard,
  req: IncomingMessage,
  res: ServerResponse,
  target: string,
  body: GuardedRequest['body'],
): Promise<McpAuth | undefined | 'answered'> {
  const method = req.method ?? 'GET';
  const header = (name: string): string | null => req.headers[name]?.toString() ?? null;
  const answer = guard.publicAnswer(method, target, header);
  if (answer) {
    send(res, answer, method === 'HEAD');
    return 'answered';
  }
  if (!guard.covers(target)) return undefined;
  let bytes: Uint8Array | undefined;
  const verdict = await guard.judge({
    method,
    header,
    isGone: () => res.destroyed,
    origin: { ip: req.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, ''), userAgent: req.headers['user-agent'] },
    body: async () => {
      const found = await body();
      if (found && 'bytes' in found) bytes = found.bytes;
      return found;
    },
  });
  if ('answer' in verdict) {
    send(res, verdict.answer);
    return 'answered';
  }
  const { auth, rules, body: changed, bindSession } = verdict.passed;
  if (changed !== undefined && bytes) overwrite(bytes, changed);
  for (const [name, value] of Object.entries(guard.corsHeaders)) if (!res.hasHeader(name)) res.setHeader(name, value);
  if (rules) filterAnswer(res, rules, bindSession);
  return auth;
}

/** Overwrites the bytes that were put back into the request. A shorter body is padded with white space. */
function overwrite(bytes: Uint8Array, body: unknown): void {
  const text = Buffer.from(JSON.stringify(body));
  if (text.byteLength > bytes.byteLength)
    throw new Error('expressMcp: the changed body is longer than the one that came.');
  bytes.set(text);
  bytes.fill(0x20, text.byteLength);
}

function send(res: ServerResponse, { status, headers, body }: GuardAnswer, head = false): void {
  res.writeHead(status, headers);
  res.end(head ? undefined : body);
}

/** In HTTP/2, no header has to announce a body. */
const bodyIsComing = (req: IncomingMessage & { readonly stream?: { readonly endAfterHeaders?: boolean } }): boolean =>
  req.headers['transfer-encoding'] !== undefined ||
  Number(req.headers['content-length'] ?? 0) > 0 ||
  req.stream?.endAfterHeaders === false;

/** Returns the body of a body parser, or the bytes, which are put back for the next reader. */
async function bodyOf(guard: Guard, req: ExpressRequest): Promise<{ parsed: unknown } | { bytes: Uint8Array } | null> {
  if (!bodyIsComing(req)) return null;
  if (
    req.headers['content-encoding'] !== undefined &&
    req.headers['content-encoding'] !== 'identity' &&
    !req.readableDidRead
  )
    throw new UnreadableBody('encoded');
  if (req.readableDidRead) {
    if (req.body === undefined || typeof req.body === 'string' || req.body instanceof Uint8Array)
      throw new Error('expressMcp: the body was read, but not as JSON, before the guard saw it.');
    return { parsed: req.body };
  }
  if (Number(req.headers['content-length'] ?? 0) > guard.maxBodyBytes) throw new BodyTooLarge();
  const bytes = await peekBody(req, guard.maxBodyBytes);
  return bytes.byteLength === 0 ? null : { bytes };
}

/**
 * Reads the whole body and leaves it in the request. The bytes are put back in the same tick in which the last of them
 * are read, before the stream notices that it is empty and ends.
 */
function peekBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (): void => {
      req.off('readable', take);
      req.off('error', fail);
      req.off('close', closed);
    };
    const fail = (error: Error): void => {
      done();
      reject(error);
    };
    const closed = (): void => fail(new UnreadableBody('the connection closed'));
    const take = (): void => {
      for (let chunk = req.read() as Buffer | null; chunk !== null; chunk = req.read() as Buffer | null) {
        chunks.push(chunk);
        size += chunk.byteLength;
      }
      if (size > maxBytes) {
        fail(new BodyTooLarge());
        return;
      }
      if (!req.complete) return;
      done();
      const body = Buffer.concat(chunks);
      if (body.byteLength > 0) req.unshift(body);
      resolve(body);
    };
    req.on('readable', take);
    req.on('error', fail);
    req.on('close', closed);
  });
}

/** Passes everything that is written to the answer through the filter, in order. */
function filterAnswer(
  res: ServerResponse,
  rules: AnswerRules,
  bindSession: (session: string | undefined) => void,
): void {
  const { writeHead, write, end } = res;
  let filter: AnswerFilter | undefined;
  let begun = false;
  let work = Promise.resolve();
  const begin = (): void => {
    if (begun) return;
    begun = true;
    bindSession(res.getHeader('mcp-session-id')?.toString());
    filter = answerFilter(
      res.getHeader('content-type')?.toString(),
      res.getHeader('content-encoding')?.toString(),
      rules,
    );
    if (rules.attach) {
      const detach = rules.attach((event) =>
        inOrder(async () => {
          if (!ended && !res.destroyed) write.call(res, event, 'utf8');
        }),
      );
      res.once('close', detach);
    }
    if (!filter.changes) return;
    res.removeHeader('content-length');
    res.removeHeader('content-encoding');
  };
  /** Bytes that were written and have not yet passed the filter. */
  let waiting = 0;
  /** Whether the writer was told to wait for 'drain'. */
  let full = false;
  let ended = false;
  const finish = (callback?: () => void): void => {
    ended = true;
    (end as (callback?: () => void) => ServerResponse).call(res, callback);
  };
  const inOrder = (step: () => Promise<void>): void => {
    work = work.then(step).catch((error: unknown) => {
      res.destroy(error instanceof Error ? error : undefined);
    });
  };

  res.writeHead = function (this: ServerResponse, status: number, ...rest: unknown[]): ServerResponse {
    // Headers passed here would bypass the check of the media type.
    const headers = rest.find((argument) => typeof argument === 'object' && argument !== null);
    if (Array.isArray(headers))
      for (let i = 0; i + 1 < headers.length; i += 2) res.setHeader(String(headers[i]), headers[i + 1] as string);
    else if (headers)
      for (const [name, value] of Object.entries(headers))
        if (value !== undefined) res.setHeader(name, value as string);
    begin();
    return (writeHead as (status: number, message?: string) => ServerResponse).call(
      res,
      status,
      ...(typeof rest[0] === 'string' ? [rest[0]] : []),
    );
  } as ServerResponse['writeHead'];

  const bytesOf = (chunk: unknown, encoding: unknown): Uint8Array =>
    typeof chunk === 'string'
      ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
      : (chunk as Uint8Array);
  const callbackOf = (...candidates: unknown[]): (() => void) | undefined =>
    candidates.find((c) => typeof c === 'function') as (() => void) | undefined;

  res.write = function (this: ServerResponse, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    begin();
    const through = filter;
    if (!through) return write.call(res, chunk as string, encoding as BufferEncoding, callback as () => void);
    if (!res.headersSent) res.flushHeaders();
    const bytes = bytesOf(chunk, encoding);
    waiting += bytes.byteLength;
    inOrder(async () => {
      const piece = ended ? '' : await through.push(bytes);
      if (piece === null) finish();
      else if (piece.length > 0 && !res.destroyed) write.call(res, piece, 'utf8');
      callbackOf(encoding, callback)?.();
      waiting -= bytes.byteLength;
      if (!full || waiting > 0) return;
      full = false;
      // Otherwise Node.js emits the event.
      if (!res.writableNeedDrain) res.emit('drain');
    });
    if (waiting >= res.writableHighWaterMark || res.writableNeedDrain) full = true;
    return !full;
  } as ServerResponse['write'];

  res.end = function (this: ServerResponse, chunk?: unknown, encoding?: unknown, callback?: unknown): ServerResponse {
    begin();
    const through = filter;
    if (!through) return end.call(res, chunk as string, encoding as BufferEncoding, callback as () => void);
    inOrder(async () => {
      if (ended) return;
      if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') {
        const piece = await through.push(bytesOf(chunk, encoding));
        if (piece === null) return finish();
        if (piece.length > 0 && !res.destroyed) write.call(res, piece, 'utf8');
      }
      const rest = await through.end();
      if (rest.length > 0 && !res.destroyed) write.call(res, rest, 'utf8');
      finish(callbackOf(chunk, encoding, callback));
    });
    return res;
  } as ServerResponse['end'];
}
