import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { getRequestListener, RequestError } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { SECOND_MS } from '../kernel/clock.ts';
import { yieldOnce } from '../kernel/yield-once.ts';
import type { Platform } from '../platform.ts';
import type { Fetch } from './app.ts';
import { directOf } from './node-body.ts';
import { badAddress, renderError } from './render-error.ts';
import { UnfinishedBodies } from './unfinished-bodies.ts';
import { UnreadAnswers } from './unread-answers.ts';

// Where @hono/node-server has replaced the global Response, it recognizes this answer only after its body was read.
// Without that it writes the head of a stream a second time.
void RESPONSE_ALREADY_SENT.body;

/** The part of `createLegate()` that is served. */
export interface Served {
  readonly fetch: Fetch;
  readonly hot: (req: IncomingMessage, res: ServerResponse) => boolean;
  readonly baseUrl: string;
  readonly platform: Platform;
  readonly endStreams: () => void;
}

export interface Listening {
  readonly server: Server;
  readonly port: number;
  /** Stops accepting connections, lets requests finish (at most `graceMs`), then closes the remaining ones. */
  stop(graceMs?: number): Promise<void>;
}

/**
 * Returns a request listener for `node:http`, for Express and other frameworks that use Node's own request and
 * response. It must run before any body parser. A request whose body was already read is answered with 500 and logged.
 */
export function nodeListener(legate: Served): (req: IncomingMessage, res: ServerResponse) => void {
  const answer = async (request: Request, env: unknown): Promise<Response> => {
    const { incoming, outgoing } = env as { incoming: IncomingMessage; outgoing: ServerResponse };
    const response = await legate.fetch(request, {
      // The socket of a disconnected client has no address.
      remoteAddress: incoming.socket.remoteAddress ?? '',
    });
    const writeTo = directOf(response.body);
    if (!writeTo || !(outgoing instanceof ServerResponse)) return response;
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    writeTo(outgoing);
    return RESPONSE_ALREADY_SENT;
  };
  const general = getRequestListener(answer, {
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      const { status, headers, body } = renderError(
        legate.platform,
        error instanceof RequestError ? badAddress() : error,
      );
      return new Response(body, { status, headers });
    },
    hostname: new URL(legate.baseUrl).host,
  });
  const refuse = (res: ServerResponse, error: Error): void => {
    const { status, headers, body } = renderError(legate.platform, error);
    res.writeHead(status, headers).end(body);
  };
  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    if (req.readableDidRead)
      refuse(res, new Error('The body was read by somebody else: mount nodeListener before any body parser.'));
    else if (legate.hot(req, res)) return;
    // Programs disagree on which Host counts (RFC 9112, section 3.2).
    else if (req.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'host').length > 1)
      refuse(res, badAddress());
    else void general(req, res);
  };
  // Requests that a client sends without waiting for answers (RFC 9112, section 9.3.2) are handled one after the other.
  // Node emits all of one packet at once and keeps their answers in memory until the client has read those before.
  const answers = new UnreadAnswers(legate.platform);
  const bodies = new UnfinishedBodies(legate.platform);
  return (req, res) => {
    const { socket } = req;
    bodies.begin(req, res);
    const before = answers.begin(socket, res);
    if (res.socket !== null || !before || before.writableFinished) handle(req, res);
    else
      before.once('close', () => {
        if (!socket.destroyed) handle(req, res);
      });
  };
}

/**
 * How long connections without a request stay open after the port has closed, if requests were drained. A proxy that
 * keeps connections may be sending a request on one of them, and must not repeat it elsewhere. During this time it
 * finds the port closed and stops using this instance.
 */
const LINGER_MS = SECOND_MS;

/** Serves a Legate on a TCP port. Resolves when it accepts connections. */
export async function listen(legate: Served, options: { port: number; host: string }): Promise<Listening> {
  const handle = nodeListener(legate);
  let stopping = false;
  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 15_000, requestTimeout: 60_000, maxHeaderSize: 32_768, noDelay: true },
    (req, res) => {
      // Tells keep-alive clients with the next answer that the connection ends. Not while requests are drained: a proxy
      // that does not ask for readiness would open a new connection for each request, also as the port closes.
      if (stopping) res.shouldKeepAlive = false;
      handle(req, res);
    },
  );
  // Node does not count a connection without any request as idle.
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    stop: async (graceMs = 8000) => {
      stopping = true;
      // In this phase of the event loop, connections that have arrived are accepted. Those that are not would be reset.
      await yieldOnce();
      // Closes the port only; `server.close` would close idle connections, too.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      const closeIdle = (): void => {
        server.closeIdleConnections();
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      };
      // What has arrived on a connection that was accepted just now is read.
      await yieldOnce();
      if (legate.platform.instance.draining) await Promise.race([closed, wait(LINGER_MS)]);
      // Open streams would delay the stop. Their clients reconnect, at another instance: a proxy with connections to
      // this instance notices that they end together with the stream.
      legate.endStreams();
      closeIdle();
      const idle = setInterval(closeIdle, 50);
      await closed;
      clearInterval(idle);
      clearTimeout(timer);
      server.close();
    },
  };
}
