import type { z } from 'zod';
import type { Actor } from '../access/actor.ts';
import type { Access, Effect, Principal, UserPrincipal, Visibility } from '../access/principal.ts';
import type { ErrorFactory, LegateError } from '../kernel/errors.ts';
import type { Db } from '../storage/index.ts';
import type { LimitedEndpoint } from './rate-limit/rate-limit.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a handler is given: everything about the call, checked and parsed. */
export interface Call<Params, Query, Body> {
  readonly principal: Principal;
  /** The caller, as events name it. */
  readonly actor: Actor;
  /** What the ledger needs to prove the principal again under its lock. */
  readonly proof: { readonly epoch: number; readonly reauthenticate: (db: Db) => Promise<Principal> };
  /** How far the caller sees here; `all` on public routes has no meaning and is never used. */
  readonly visibility: Visibility;
  /**
   * Proves credential and right again inside a change (`db` is that of the change) and gives the reach as it is there, so that
   * nothing is written with a right that has ended. Throws 401 or 403.
   */
  readonly reauthorize: (db: Db) => Promise<Visibility>;
  /** On a `versioned` route that changes something: has to be called inside the change. Throws 412. */
  readonly assertUnchanged: (current: object) => void;
  /**
   * On a public route: the person who calls, if there has to be one, proved as on a route for `user`. Throws 401 or 403.
   * `confirm` proves the same again inside a change.
   */
  readonly requireUser: () => Promise<{
    readonly principal: UserPrincipal;
    readonly actor: Actor;
    readonly reauthorize: (db: Db) => Promise<Visibility>;
  }>;
  /** On a public route: whoever calls, proved as on a route for `who`; by this credential instead of the request's own when one is given. Throws 401 or 403. */
  readonly authenticateAs: (
    access: Access,
    credential?: string,
  ) => Promise<{
    readonly principal: Principal;
    readonly actor: Actor;
    readonly visibility: Visibility;
    readonly reauthorize: (db: Db) => Promise<Visibility>;
  }>;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Address of the client (trusted proxies considered), or null when it is not known. */
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** Value of performance.now() when the request arrived. */
  readonly startedAt: number;
  readonly requestId: string;
  readonly request: Request;
  /** Path and query of the request, for `Link` headers. */
  readonly url: URL;
}

/** `cookies`: values of Set-Cookie, of which there may be several. */
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
   * The resource at the path has a version. The answers with status 200 carry it as ETag, and a request that changes
   * something may carry If-Match: its use case calls `call.assertUnchanged`.
   */
  readonly versioned?: boolean;
  /** A list whose answer has the number of rows on all pages, in Legate-Total-Count. */
  readonly total?: boolean;
  /** What a request that is not a GET changes; `any` by default, which auditors may not. Routes with access `enrolling` are `ownAccount`. */
  readonly effect?: Effect;
  /** How callers of a public route prove themselves to its handler; `none`: some need not. For the API description. */
  readonly checksItself?: readonly ('bearer' | 'cookie' | 'client' | 'none')[];
  /** Pages of any origin may call it, without credentials (CORS); preflight requests are answered. Counts for all methods of the path. */
  readonly crossOrigin?: boolean;
  /** GET alone, not HEAD: what it opens is not to be opened for its headers. */
  readonly noHead?: boolean;
  /** A secret of this route alone that opens it as well, sent as Bearer. */
  readonly staticToken?: (platform: Platform) => string | undefined;
  /** Each request counts, before anything else is looked at, against the limit of this name for its client's address. Routes of one name share it. */
  readonly rateLimit?: LimitedEndpoint;
  /**
   * GET or POST at a fixed address that is asked very often: answered on node:http itself, without a Request, where the
   * credential is a Bearer token (or for GET the session cookie). Nothing else changes.
   */
  readonly fastPath?: boolean;
  /**
   * The handler hands `call.proof` to the ledger, which proves the credential and an agent's right again under its lock. A
   * credential from memory is then enough, and `call.visibility` of an agent is itself alone.
   */
  readonly provedByLedger?: boolean;
  /** A quicker way than the schema for simple bodies, with the same result; undefined: the schema judges. */
  readonly parseBody?: (text: string, json: unknown) => z.output<B> | undefined;
  /** A quicker way than the schema to write the answer, with the same result. */
  readonly serialize?: (body: unknown) => string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** The body may also come as application/x-www-form-urlencoded, from a page of ours; then every field is a text. `only`: JSON is refused. */
  readonly form?: boolean | 'only';
  /**
   * Body of an error, where a standard demands another form than ours; status and headers stay. A refusal by rate limit keeps the
   * body of specification 7.
   */
  readonly errorBody?: (error: LegateError) => object;
  /**
   * For people in a browser (src/pages): 401 leads to the sign-in page and back, other errors are pages for whoever accepts HTML
   * or sends a form, and a form from another site is refused.
   */
  readonly page?: boolean;
  /** Thrown instead of 415 for a body of another media type, where a standard wants it so. */
  readonly wrongMediaType?: ErrorFactory;
  /** X-Request-ID comes back as it came, with errors too. */
  readonly echoRequestId?: boolean;
  /** The body may be left out. */
  readonly bodyOptional?: boolean;
  /** Largest body in bytes; http.bodyLimit when not stated. */
  readonly bodyLimit?: number;
  /** Status -> schema of the answer (null: no body; `mediaTypes`: written by the handler, with `json` the schema of its JSON form). Answers are parsed by it on the way out. */
  readonly responses: Readonly<
    Record<number, z.ZodType | null | { readonly mediaTypes: readonly string[]; readonly json?: z.ZodType }>
  >;
  readonly errors?: readonly ErrorFactory[];
  /** `?preview=true` answers with what the change would do, and changes nothing (contract 17.8). The handler makes one change. */
  readonly preview?: boolean;
  /** Fields of an answer that hold a secret, which is never stored: a repeated request is not answered with it. */
  readonly secrets?: readonly string[];
  readonly handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>, platform: Platform) => Promise<Answer> | Answer;
}

/** A route whose schema types are forgotten: what the router, OpenAPI and the tests loop over. */
export type Route<Platform> = RouteDeclaration<Platform, z.ZodType, z.ZodType, z.ZodType>;
