import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator, Proof } from '../../access/authenticate.ts';
import { type Access, asUser, type Visibility } from '../../access/principal.ts';
import { visibilityOf } from '../../access/visibility.ts';
import { newId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import type { MountedRoute } from '../app.ts';
import { clientAddress, parseTrustedProxies } from '../client-address.ts';
import { renderError } from '../render-error.ts';
import type { Call, Route } from '../route.ts';
import { writeJson } from './write-json.ts';

/**
 * Routes that are declared `light`, straight on node:http. It skips the Request and Response objects and the router, which cost
 * more than the answer; credential, right, handler, schema and errors are those of the declared route. Whatever does not fit here
 * is left to that route.
 */
export function fastRoutes(
  platform: Platform,
  mounted: readonly MountedRoute[],
  authenticator: Authenticator,
  observe: (route: string, status: number) => void,
): (req: IncomingMessage, res: ServerResponse) => boolean {
  const trusted = parseTrustedProxies(platform.config.http.trustedProxies);
  const routes = new Map(
    mounted.filter(({ route }) => route.fastPath && route.method === 'GET').map(({ route, path }) => [path, route]),
  );

  const answer = async (
    req: IncomingMessage,
    res: ServerResponse,
    route: Route<Platform>,
    proving: Promise<Proof>,
  ): Promise<void> => {
    const startedAt = performance.now();
    try {
      const proof = await proving;
      const visibility = await visibilityOf(platform, proof.principal, route.access);
      const ip = clientAddress(
        req.socket.remoteAddress ?? null,
        (req.headers['x-forwarded-for'] as string | undefined) ?? null,
        trusted,
      );
      const given = await route.handle(
        new LightCall(platform, route, req, proof, visibility, ip, startedAt) as never,
        platform,
      );
      if (given instanceof Response) throw new Error(`${route.method} ${route.path} is light, and gave a Response.`);
      const schema = route.responses[given.status];
      if (!schema || 'mediaTypes' in schema)
        throw new Error(`${route.method} ${route.path} answered ${given.status}, which it does not declare.`);
      const text = JSON.stringify(schema.parse(given.body));
      writeJson(res, given.status, text);
      observe(`GET ${req.url}`, given.status);
    } catch (error) {
      const { status, headers, body } = renderError(platform, error);
      res.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) });
      res.end(body);
      observe(`GET ${req.url}`, status);
    }
  };

  return (req, res) => {
    if (req.method !== 'GET') return false;
    const route = routes.get(req.url as string);
    if (!route || !isPlain(req)) return false;
    const proving = authenticatorSays(authenticator, req);
    if (!proving) return false;
    void answer(req, res, route, proving);
    return true;
  };
}

/** A credential that is broken is an answer, too. */
function authenticatorSays(authenticator: Authenticator, req: IncomingMessage): Promise<Proof> | undefined {
  try {
    return authenticator.provenOn(req.socket, req.headers.authorization, req.headers.cookie);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** No body, a Host that is one, each credential once, and no page of another origin, which the declared route may let read the answer. */
function isPlain({ headers, rawHeaders }: IncomingMessage): boolean {
  if (
    headers.origin !== undefined ||
    headers['content-length'] !== undefined ||
    headers['transfer-encoding'] !== undefined ||
    !/^[\w.:[\]-]+$/.test(headers.host ?? '')
  )
    return false;
  let credentials = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (
      (name.length === 13 && name.toLowerCase() === 'authorization') ||
      (name.length === 6 && name.toLowerCase() === 'cookie')
    )
      credentials++;
  }
  return credentials <= 1;
}

/** What the handler is given; what few handlers look at is made when they do. */
class LightCall implements Call<unknown, unknown, unknown> {
  readonly principal: Proof['principal'];
  readonly proof: Call<unknown, unknown, unknown>['proof'];
  readonly params = {};
  readonly query = undefined;
  readonly body = undefined;
  readonly visibility: Visibility;
  readonly ip: string | null;
  readonly startedAt: number;
  readonly #platform: Platform;
  readonly #route: Route<Platform>;
  readonly #req: IncomingMessage;
  readonly #proof: Proof;

  constructor(
    platform: Platform,
    route: Route<Platform>,
    req: IncomingMessage,
    proof: Proof,
    visibility: Visibility,
    ip: string | null,
    startedAt: number,
  ) {
    this.#platform = platform;
    this.#route = route;
    this.#req = req;
    this.#proof = proof;
    this.visibility = visibility;
    this.ip = ip;
    this.startedAt = startedAt;
    this.principal = proof.principal;
    this.proof = proof;
  }

  reauthorize = async (db: unknown): Promise<Visibility> =>
    visibilityOf(this.#platform, await this.#proof.reauthenticate(db as Db), this.#route.access, db as Db);

  requireUser = async () => {
    const again = async (db: unknown): Promise<Visibility> =>
      visibilityOf(this.#platform, await this.#proof.reauthenticate(db as Db), 'user', db as Db);
    await visibilityOf(this.#platform, this.#proof.principal, 'user');
    return { principal: asUser(this.#proof.principal), reauthorize: again };
  };

  authenticateAs = async (who: Access) => {
    const again = async (db: unknown): Promise<Visibility> =>
      visibilityOf(this.#platform, await this.#proof.reauthenticate(db as Db), who, db as Db);
    return {
      principal: this.#proof.principal,
      visibility: await visibilityOf(this.#platform, this.#proof.principal, who),
      reauthorize: again,
    };
  };

  get userAgent(): string | null {
    return this.#req.headers['user-agent']?.slice(0, 512) ?? null;
  }
  get requestId(): string {
    return newId('request', this.#platform.clock.now());
  }
  get url(): URL {
    return new URL(this.#req.url as string, `http://${this.#req.headers.host}`);
  }
  get request(): Request {
    return new Request(this.url, {
      headers: Object.entries(this.#req.headers).map(([name, value]) => [name, String(value)]) as [string, string][],
    });
  }
}
