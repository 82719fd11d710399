import { type Actor, actorOf } from '../access/actor.ts';
import { type Access, ANONYMOUS, asUser, type Effect, type Principal, type Visibility } from '../access/principal.ts';
import { visibilityOf } from '../access/visibility.ts';
import { assertMatches, type IfMatch, parseIfMatch, parseIfNoneMatch } from '../kernel/entity-tag.ts';
import { CommonErrors } from '../kernel/errors.ts';
import { splitReason } from '../platform/reason.ts';
import type { Call, Route } from '../platform/route.ts';
import { takesIfNoneMatch } from '../platform/version.ts';
import type { Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';
import type { Authenticator, Proof } from './authenticate.ts';
import { assertAllowedOrigin } from './origin.ts';
import type { Source } from './sources/source.ts';

const MAX_USER_AGENT_CHARS = 512;

/**
 * Collects the facts about a request during the pipeline, and is passed to the handler. Rarely used values are computed
 * on demand.
 */
export class RequestCall implements Call<unknown, unknown, unknown> {
  ip: string | null = null;
  /** undefined: the route needs no credential. */
  proven: Proof | undefined;
  #asked: Proof | undefined;
  visibility: Visibility = { kind: 'all' };
  params: unknown;
  query: unknown;
  body: unknown;
  #ifMatch: IfMatch | undefined;
  #mustBeNew = false;
  /** Whether the use case has compared the version. */
  matched = false;
  readonly requestId: string;
  readonly source: Source<unknown>;
  readonly #platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'mayUseOwnResource'>;
  readonly #authenticator: Authenticator;
  readonly #route: Route<Platform>;
  #reason: string | undefined;

  constructor(
    platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'mayUseOwnResource'>,
    authenticator: Authenticator,
    route: Route<Platform>,
    source: Source<unknown>,
    requestId: string,
  ) {
    this.#platform = platform;
    this.#authenticator = authenticator;
    this.#route = route;
    this.source = source;
    this.requestId = requestId;
  }

  /**
   * Authenticates the request. Throws 401, and 403 for a change by cookie that may come from another site.
   * @param remembered a cached credential is enough
   */
  authenticate(remembered = false): Proof | Promise<Proof> {
    const proving = this.source.prove(this.#authenticator, remembered);
    return proving instanceof Promise ? proving.then((proof) => this.#notForged(proof)) : this.#notForged(proving);
  }

  #notForged(proof: Proof): Proof {
    if (proof.byCookie && changes(this.source)) assertAllowedOrigin(this.#platform, this.source.request);
    return proof;
  }

  /** Moves the reason from the body or the query to the actor. */
  takeReason(): void {
    const name = this.source.method === 'DELETE' ? 'query' : 'body';
    const { reason, rest } = splitReason(this[name]);
    this[name] = rest;
    this.#reason = reason;
  }

  get principal(): Principal {
    return this.proven?.principal ?? ANONYMOUS;
  }

  /** The principal for the log, as far as it was authenticated. On public routes the handler may have done so. */
  get seen(): Principal {
    return (this.proven ?? this.#asked)?.principal ?? ANONYMOUS;
  }

  /** The version that the request depends on. Throws 400 for a malformed If-Match or If-None-Match. */
  readPrecondition(): void {
    const header = this.source.header('if-match');
    if (header !== null) this.#ifMatch = parseIfMatch(header);
    const none = takesIfNoneMatch(this.#route) ? this.source.header('if-none-match') : null;
    if (none !== null) this.#mustBeNew = parseIfNoneMatch(none);
  }

  get assertUnchanged(): (current: object | undefined) => void {
    return (current) => {
      this.matched = true;
      if (this.#ifMatch !== undefined) assertMatches(this.#ifMatch, current);
      if (this.#mustBeNew && current !== undefined) throw CommonErrors.PRECONDITION_FAILED();
    };
  }

  get effect(): Effect {
    return changes(this.source) ? (this.#route.effect ?? 'any') : 'none';
  }

  get actor(): Actor {
    return this.#actor(this.principal);
  }

  #actor(principal: Principal): Actor {
    const actor = actorOf(principal, this.#platform.config.multiSession.trackIp ? this.ip : null);
    return this.#reason === undefined ? actor : { ...actor, reason: this.#reason };
  }

  get proof(): Call<unknown, unknown, unknown>['proof'] {
    return this.proven ?? { epoch: Number.MAX_SAFE_INTEGER, reauthenticate: async () => ANONYMOUS };
  }

  get reauthorize(): (db: Db) => Promise<Visibility> {
    const { proven, visibility } = this;
    return proven ? this.#again(proven, this.#route.access) : async () => visibility;
  }

  get requireUser(): Call<unknown, unknown, unknown>['requireUser'] {
    return async () => {
      const proof = this.proven ?? (await this.authenticate());
      this.#asked = proof;
      await visibilityOf(this.#platform, proof.principal, 'user', this.effect);
      const principal = asUser(proof.principal);
      return { principal, actor: this.#actor(principal), reauthorize: this.#again(proof, 'user') };
    };
  }

  get authenticateAs(): Call<unknown, unknown, unknown>['authenticateAs'] {
    return async (access, credential) => {
      const proof =
        credential === undefined
          ? (this.proven ?? (await this.authenticate()))
          : await this.#authenticator.bySecret(credential);
      this.#asked = proof;
      return {
        principal: proof.principal,
        actor: this.#actor(proof.principal),
        visibility: await visibilityOf(this.#platform, proof.principal, access, this.effect),
        reauthorize: this.#again(proof, access),
        proveAgain: (db) => this.#proveAgain(proof, access, db),
      };
    };
  }

  /** Authenticates and authorizes again inside a change. */
  #again(proof: Proof, access: Access): (db: Db) => Promise<Visibility> {
    return async (db) => (await this.#proveAgain(proof, access, db)).visibility;
  }

  async #proveAgain(proof: Proof, access: Access, db: Db) {
    const principal = await proof.reauthenticate(db);
    return { principal, visibility: await visibilityOf(this.#platform, principal, access, this.effect, db) };
  }

  get userAgent(): string | null {
    return this.source.header('user-agent')?.slice(0, MAX_USER_AGENT_CHARS) ?? null;
  }

  get startedAt(): number {
    return this.source.startedAt;
  }

  get request(): Request {
    return this.source.request;
  }

  get url(): URL {
    return this.source.url;
  }

  get method(): string {
    return this.source.method;
  }

  header(name: string): string | null {
    return this.source.header(name);
  }

  bytes(limit: number): Uint8Array | Promise<Uint8Array> {
    return this.source.body(limit);
  }

  onAbort(listener: () => void): void {
    this.source.onAbort(listener);
  }
}

export const changes = ({ method }: Source<unknown>): boolean => method !== 'GET' && method !== 'HEAD';
