import { ANONYMOUS, type Principal, ROLES, type Role, type UserPrincipal } from '../access/principal.ts';
import { readCookie, sessionCookieName } from '../access/session-cookie.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import { invalidCredential } from '../kernel/errors.ts';
import { asId } from '../kernel/ids.ts';
import { text } from '../kernel/json.ts';
import { type SecretHash, secretHash, secretKind, secretKindByPrefix } from '../kernel/secrets.ts';
import type { Credential, CredentialKind, Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';

/** The embedder's own sign-in, called when a request has no credential of Legate (contract 4). */
export type AuthenticateHook = (
  request: Request,
) => Promise<ExternalUser | null | undefined> | ExternalUser | null | undefined;
export interface ExternalUser {
  userId: string;
  role?: Role | undefined;
  tenantId?: string | null | undefined;
}

/** A principal, and the means to authenticate it again. */
export interface Proof {
  readonly principal: Principal;
  /** Epoch up to which it is known to be valid; -1 if unknown. */
  readonly epoch: number;
  readonly reauthenticate: (db: Db) => Promise<Principal>;
  /** The credential came in a cookie, so a browser may have sent it for another site. */
  readonly byCookie: boolean;
}

const MAX_CREDENTIAL_CHARS = 16_384;

interface CachedUser {
  readonly principal: Principal;
  readonly epoch: number;
  readonly provedAt: number;
}
/** Some credentials change by use: a session expires later when it is used. */
const PROVE_AGAIN_MS = 30 * SECOND_MS;
const MAX_CACHED = 20_000;

/** A parsed credential header. */
interface KnownHeader {
  readonly header: string;
  readonly token: string;
  /** undefined: not a secret of this service, or its checksum is wrong. */
  readonly kind: CredentialKind | undefined;
  readonly tokenHash: SecretHash | undefined;
}

/** Turns the credential of a request into a principal. Modules declare the kinds of credentials. */
export class Authenticator {
  readonly #platform: Platform;
  readonly #credentials: ReadonlyMap<CredentialKind, Credential>;
  readonly #hook: AuthenticateHook | undefined;
  readonly cookieName: string;
  readonly #cache = new Map<string, CachedUser>();
  readonly #lastOf = new WeakMap<object, KnownHeader>();
  readonly #lastCookieOf = new WeakMap<object, KnownHeader>();

  constructor(platform: Platform, credentials: readonly Credential[], hook: AuthenticateHook | undefined) {
    this.#platform = platform;
    this.#credentials = new Map(credentials.map((c) => [c.kind, c]));
    this.#hook = hook;
    this.cookieName = sessionCookieName(platform.baseUrl, platform.config.service.name);
  }

  /**
   * Throws 401 for an invalid credential, and for a suspended user of the embedder. Without a credential the principal
   * is anonymous.
   */
  async authenticate(request: Request): Promise<Proof> {
    const header = request.headers.get('authorization');
    if (header !== null && this.isOurs(header)) return this.#bySecret(bearerToken(header), false);
    const cookie = header === null ? readCookie(request.headers.get('cookie'), this.cookieName) : undefined;
    if (cookie !== undefined) return this.#bySecret(cookie, true);
    const external = (await this.#hook?.(request)) ?? null;
    if (external === null) {
      if (header !== null) throw invalidCredential('credential-unrecognised');
      return {
        principal: ANONYMOUS,
        epoch: Number.MAX_SAFE_INTEGER,
        reauthenticate: async () => ANONYMOUS,
        byCookie: false,
      };
    }
    const { policy, database } = this.#platform;
    const epoch = policy.epoch;
    const principal = externalPrincipal(external);
    const reauthenticate = async (db: Db): Promise<Principal> => {
      const user = await this.#platform.owners.find(db, principal.userId);
      if (user && user.suspended_at !== null) throw invalidCredential('owner-suspended');
      return principal;
    };
    await reauthenticate(database.read);
    // The application may have used a cookie of its own. Browsers send Origin with every change, so only they are
    // checked.
    const byCookie =
      header === null && request.headers.has('origin') && request.headers.get('sec-fetch-site') !== 'same-origin';
    return { principal, epoch, reauthenticate, byCookie };
  }

  /** Authenticates by a secret that came outside the Authorization header. Throws 401. */
  bySecret(secret: string): Promise<Proof> {
    return this.#bySecret(secret, false);
  }

  /** Returns false if the embedder's own sign-in has to judge this Authorization header. */
  isOurs(header: string): boolean {
    return this.#hook === undefined || (isBearer(header) && this.#kindByLooks(bearerToken(header)) !== undefined);
  }

  /** Picks the credential kind that verifies this token; the token may still be invalid. */
  #kindByLooks(token: string): CredentialKind | undefined {
    return secretKindByPrefix(token) ?? this.#recognised(token);
  }

  #recognised(token: string): CredentialKind | undefined {
    for (const { kind, recognises } of this.#credentials.values()) if (recognises?.(this.#platform, token)) return kind;
    return undefined;
  }

  /**
   * For the hot path: answers from memory if possible. The result may be older than the newest change; the ledger
   * authenticates again under its lock before it decides. A connection mostly repeats its header, so the hash is cached
   * per `connection`.
   */
  cachedBearer(header: string, connection: object): Proof | Promise<Proof> {
    const { policy } = this.#platform;
    const known = this.#known(header, connection, bearerToken);
    const { token, kind, tokenHash } = known;
    if (tokenHash && kind === 'agentToken') {
      const agent = policy.peekByTokenHash(tokenHash);
      if (agent) {
        const principal: Principal = {
          kind: 'agent',
          agentId: agent.id,
          ownerId: agent.ownerId,
          tenantId: agent.tenantId,
          tokenHash,
          expiresAt: agent.expires_at,
        };
        return {
          principal,
          epoch: -1,
          reauthenticate: (db) => this.#prove(kind, tokenHash, token, db),
          byCookie: false,
        };
      }
    } else if (tokenHash && kind) {
      const hit = this.#cache.get(tokenHash);
      if (hit && hit.epoch === policy.epoch && this.#platform.clock.now() - hit.provedAt < PROVE_AGAIN_MS)
        return {
          principal: hit.principal,
          epoch: hit.epoch,
          reauthenticate: (db) => this.#prove(kind, tokenHash, token, db),
          byCookie: false,
        };
    }
    return this.#byKnown(known, false);
  }

  /**
   * Whether {@link provenOn} accepts this request: its Bearer token or session cookie is not for the embedder's own
   * sign-in.
   */
  canProve(authorization: string | undefined, cookies: string | undefined): boolean {
    if (authorization !== undefined) return this.isOurs(authorization);
    return cookies !== undefined && readCookie(cookies, this.cookieName) !== undefined;
  }

  /**
   * Authenticates the Bearer token or session cookie of a request on `connection` against the database, as {@link
   * authenticate} does, but without a Request. Only for requests that {@link canProve} accepts. Throws 401.
   */
  provenOn(connection: object, authorization: string | undefined, cookies = ''): Promise<Proof> {
    if (authorization !== undefined) return this.#byKnown(this.#known(authorization, connection, bearerToken), false);
    const secretIn = (header: string): string => readCookie(header, this.cookieName) ?? '';
    return this.#byKnown(this.#known(cookies, connection, secretIn, this.#lastCookieOf), true);
  }

  #known(header: string, connection: object, secretIn: (header: string) => string, last = this.#lastOf): KnownHeader {
    let known = last.get(connection);
    if (known?.header !== header) {
      known = this.#look(header, secretIn(header));
      last.set(connection, known);
    }
    return known;
  }

  #look(header: string, token: string): KnownHeader {
    const kind = token.length > MAX_CREDENTIAL_CHARS ? undefined : (secretKind(token) ?? this.#recognised(token));
    return { header, token, kind, tokenHash: kind && secretHash(token) };
  }

  async #bySecret(secret: string, byCookie: boolean): Promise<Proof> {
    return this.#byKnown(this.#look(secret, secret), byCookie);
  }

  async #byKnown({ token, kind, tokenHash }: KnownHeader, byCookie: boolean): Promise<Proof> {
    if (!kind || !tokenHash) throw invalidCredential('credential-unrecognised');
    const { policy, database } = this.#platform;
    const epoch = policy.epoch;
    const principal = await this.#prove(kind, tokenHash, token, database.read);
    await this.#credentials.get(kind)?.used?.(this.#platform, principal, this.#platform.clock.now());
    return {
      principal,
      epoch: principal.kind === 'agent' ? -1 : epoch,
      reauthenticate: (db) => this.#prove(kind, tokenHash, token, db),
      byCookie,
    };
  }

  async #prove(kind: CredentialKind, tokenHash: SecretHash, credential: string, db: Db): Promise<Principal> {
    const { policy, clock } = this.#platform;
    const epoch = policy.epoch;
    const principal =
      (await this.#credentials.get(kind)?.verify(this.#platform, db, tokenHash, clock.now(), credential)) ??
      'credential-unrecognised';
    if (typeof principal === 'string') throw invalidCredential(principal);
    if (principal.kind !== 'agent' && !this.#credentials.get(kind)?.everyUse?.(this.#platform)) {
      if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
      this.#cache.set(tokenHash, { principal, epoch, provedAt: clock.now() });
    }
    return principal;
  }
}

const isBearer = (header: string): boolean =>
  header.length <= MAX_CREDENTIAL_CHARS && header.slice(0, 7).toLowerCase() === 'bearer ';

function bearerToken(header: string): string {
  if (!isBearer(header)) throw invalidCredential('credential-unrecognised');
  return header.slice(7).trim();
}

/** Throws (500, with the reason in the log) if the embedder's function returns an invalid user. */
function externalPrincipal({ userId, role, tenantId }: ExternalUser): UserPrincipal {
  if (!text(128).safeParse(userId).success)
    throw new Error('authenticate gave a userId that is not a text of 1 to 128 characters');
  if (role !== undefined && !ROLES.includes(role))
    throw new Error(`authenticate gave a role that is not one of ${ROLES.join(', ')}`);
  return {
    kind: 'user',
    userId: asId('user', userId),
    role: role ?? 'user',
    tenantId: tenantId == null ? null : asId('tenant', tenantId),
    via: 'external',
    credentialId: null,
    scopes: undefined,
    expiresAt: null,
  };
}
