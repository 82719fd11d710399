import type { z } from 'zod';
import type { Actor } from '../access/actor.ts';
import type { Access, Effect, Principal, UserPrincipal, Visibility } from '../access/principal.ts';
import type { ErrorFactory, LegateError } from '../kernel/errors.ts';
import type { Db } from '../storage/index.ts';
import type { LimitedEndpoint } from './limited-endpoints.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The argument of a handler: everything about the call, checked and parsed. */
export interface Call<Params, Query, Body> {
  readonly principal: Principal;
  /** The caller as recorded in events. */
  readonly actor: Actor;
  /** Lets the ledger authenticate the principal again under its lock. */
  readonly proof: { readonly epoch: number; readonly reauthenticate: (db: Db) => Promise<Principal> };
  /** How far the caller sees here; `all` on public routes has no meaning and is never used. */
  readonly visibility: Visibility;
  /**
   * Authenticates and authorizes again inside a change (`db` is that of the change) and returns the visibility, so that
   * no change is made with a right that has ended. Throws 401 or 403.
   */
  readonly reauthorize: (db: Db) => Promise<Visibility>;
  /** On a `versioned` route that changes something: has to be called inside the change. Throws 412. */
  readonly assertUnchanged: (current: object | undefined) => void;
  /**
   * On a public route: returns the calling person, authenticated as on a route for `user`. Throws 401 or 403.
   * `reauthorize` checks the same again inside a change.
   */
  readonly requireUser: () => Promise<{
    readonly principal: UserPrincipal;
    readonly actor: Actor;
    readonly reauthorize: (db: Db) => Promise<Visibility>;
  }>;
  /**
   * On a public route: authenticates the caller as on a route for `who`, optionally with this credential instead of the
   * request's own. Throws 401 or 403.
   */
  readonly authenticateAs: (
    access: Access,
    credential?: string,
  ) => Promise<{
    readonly principal: Principal;
    readonly actor: Actor;
    readonly visibility: Visibility;
    readonly reauthorize: (db: Db) => Promise<Visibility>;
    /** Like `reauthorize`, and also returns the principal, whose credential may expire at another time now. */
    readonly proveAgain: (db: Db) => Promise<{ readonly principal: Principal; readonly visibility: Visibility }>;
  }>;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Address of the client, with trusted proxies considered. null: unknown. */
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** Value of performance.now() when the request arrived. */
  readonly startedAt: number;
  readonly requestId: string;
  readonly method: string;
  readonly request: Request;
  /** Returns the value of a header, whose name is in lower case. */
  header(name: string): string | null;
  /** Returns the body, for routes that declare none. Throws 413 for one of more than `limit` bytes. */
  bytes(limit: number): Uint8Array | Promise<Uint8Array>;
  /** Calls `listener` if the client disconnects before its answer is complete, or has disconnected already. */
  onAbort(listener: () => void): void;
  /** Path and query of the request, for `Link` headers. */
  readonly url: URL;
}

/** `cookies` are values of Set-Cookie. */
export type Answer =
  | Response
  | {
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
      readonly cookies?: readonly string[];
    };

export interface RouteDeclaration<Platform, P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly method: Method;
  /** Hono's notation: `/agents/:id`. */
  readonly path: string;
  /** Where it is mounted: `rest` (http.restPath, the default), `base` (http.basePath) or `root` of the domain. */
  readonly mount?: 'rest' | 'base' | 'root';
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /**
   * The resource at the path, or the one that a POST creates, has a version. Answers that show it carry the version as
   * ETag. A request that changes it may carry If-Match, and a PUT If-None-Match: its use case calls
   * `call.assertUnchanged`.
   */
  readonly versioned?: boolean;
  /** A list whose answer has the number of rows on all pages, in Legate-Total-Count. */
  readonly total?: boolean;
  /** A list whose pages can have megabytes. People who read several at once take turns. */
  readonly longPages?: boolean;
  /**
   * What a request that is not a GET changes; `any` by default, which auditors may not. Routes with access `enrolling`
   * are `ownAccount`.
   */
  readonly effect?: Effect;
  /**
   * How the handler of a public route authenticates callers; `none`: some need no credential. For the API description.
   */
  readonly checksItself?: readonly ('bearer' | 'cookie' | 'client' | 'none')[];
  /** Pages of any origin may call it, without credentials (CORS). Applies to all methods of the path. */
  readonly crossOrigin?: boolean;
  /** Allows GET but not HEAD, for streams that must not be opened for their headers. */
  readonly noHead?: boolean;
  /** A secret that is valid for this route only, sent as Bearer token. */
  readonly staticToken?: (platform: Platform) => string | undefined;
  /** The rate limit per client address, checked before anything else. Routes with the same name share it. */
  readonly rateLimit?: LimitedEndpoint;
  /**
   * A very frequent GET at a fixed path, or POST. It is answered directly on node:http, without a Request, if the route
   * is public or the credential is a Bearer token (or for GET the session cookie). Nothing else changes.
   */
  readonly fastPath?: boolean;
  /**
   * The handler passes `call.proof` to the ledger, which checks the credential and an agent's right again under its
   * lock. A cached credential is then enough, and `call.visibility` of an agent is only itself.
   */
  readonly provedByLedger?: boolean;
  /** A faster parser for simple bodies, with the same result as the schema. Returns undefined to use the schema. */
  readonly parseBody?: (text: string, json: unknown) => z.output<B> | undefined;
  /** A faster serialiser, with the same result as the schema. */
  readonly serialize?: (body: unknown) => string;
  /** The media type of answers in JSON, if clients need another than `application/json; charset=utf-8`. */
  readonly contentType?: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /**
   * The body may also be application/x-www-form-urlencoded, from a page of the service; all fields are then strings.
   * `only`: JSON is refused.
   */
  readonly form?: boolean | 'only';
  /**
   * Renders the body of an error if a standard requires another format. Status and headers do not change. Refusals by a
   * rate limit keep the body of specification 7.
   */
  readonly errorBody?: (error: LegateError) => object;
  /**
   * For people in a browser (src/pages): 401 redirects to the sign-in page and back, other errors are pages for clients
   * that accept HTML or send a form, and forms from other sites are refused.
   */
  readonly page?: boolean;
  /** Converts the JSON of a body before the schema is applied, if a standard reads names in any case. */
  readonly adaptBody?: (json: unknown) => unknown;
  /** Another media type of JSON that bodies may have and errors have, if a standard requires it. */
  readonly mediaType?: string;
  /** Thrown instead of 415 for another media type, if a standard requires it. */
  readonly wrongMediaType?: ErrorFactory;
  /** X-Request-ID is returned unchanged, with errors too. */
  readonly echoRequestId?: boolean;
  /** The body is optional. */
  readonly bodyOptional?: boolean;
  /** Largest body in bytes. Default: http.bodyLimit. */
  readonly bodyLimit?: number;
  /**
   * Schemas of answers by status, applied to each answer. null: no body; `mediaTypes`: written by the handler, where
   * `json` is the schema of its JSON form.
   */
  readonly responses: Readonly<
    Record<number, z.ZodType | null | { readonly mediaTypes: readonly string[]; readonly json?: z.ZodType }>
  >;
  readonly errors?: readonly ErrorFactory[];
  /**
   * With `?preview=true`, the answer contains the effects of the change, and nothing changes (contract 17.8). The
   * handler makes one change.
   */
  readonly preview?: boolean;
  /**
   * Fields of an answer that contain a secret. They are never stored, so a repeated request does not get them again.
   */
  readonly secrets?: readonly string[];
  readonly handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>, platform: Platform) => Promise<Answer> | Answer;
}

/** A route without its schema types, as the router, OpenAPI and the tests use it. */
export type Route<Platform> = RouteDeclaration<Platform, z.ZodType, z.ZodType, z.ZodType>;
