import { createHash, randomBytes } from 'node:crypto';
import type { Changer } from '../../../../access/caller.ts';
import type { UserPrincipal } from '../../../../access/principal.ts';
import { MINUTE_MS } from '../../../../kernel/clock.ts';
import { seal, unseal } from '../../../../kernel/encryption.ts';
import type { Id } from '../../../../kernel/ids.ts';
import { secretHash, secretsEqual } from '../../../../kernel/secrets.ts';
import { GuardedFetchError } from '../../../../operations/outbound/index.ts';
import type { Site } from '../../../../pages/index.ts';
import type { Platform } from '../../../../platform.ts';
import type { GatewayServer } from '../../servers-file.ts';
import { ConnectionErrors, upstreamFailed } from '../errors.ts';
import { findConnectionRow, usableCredentials } from '../store.ts';
import { clientFor, forgetClient, isRegistered, redirectUri, type UpstreamClient } from './client.ts';
import { type Discovered, discover } from './discover.ts';
import { joinScopes, OFFLINE_ACCESS } from './scopes.ts';
import { askForTokens, ClientUnknown, type OAuthCredentials, type TokenSource } from './tokens.ts';

export const STATE_LIFE_MS = 10 * MINUTE_MS;
const PURPOSE = 'gateway oauth states';
const MAX_STATES = 20;

/** The parts of the authorization request that the callback needs. */
interface Pending {
  readonly verifier: string;
  readonly source: TokenSource;
  /** Whether the authorization server names itself in its answer (RFC 9207). */
  readonly namesIssuer: boolean;
}

type Person = Changer & { readonly principal: UserPrincipal };

const newRandom = (): string => randomBytes(32).toString('base64url');

/** Turns an error of a request into 502 CONNECTION_UPSTREAM_FAILED, without details of the network. */
async function reaching<T>(platform: Pick<Platform, 'log'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GuardedFetchError) throw upstreamFailed(platform, error.message);
    throw error;
  }
}

/**
 * Begins a sign-in at the authorization server of an MCP server. Returns the address to open, and the secret that the
 * browser keeps until the callback: `kept`, the one it has already, if other sign-ins of the person at this server in
 * this browser are unfinished. Throws 502 CONNECTION_UPSTREAM_FAILED.
 */
export async function beginSignIn(
  platform: Platform,
  person: Person,
  server: GatewayServer,
  kept: string | undefined,
): Promise<{ readonly address: string; readonly issuer: string; readonly browserSecret: string }> {
  const { auth } = server.legate;
  if (auth.type !== 'oauth' || server.url === undefined) throw ConnectionErrors.CONNECTION_NOT_FOUND();
  const url = server.url;
  const { userId } = person.principal;
  const { resource, metadata, source, scopes } = await reaching(platform, async () => {
    const discovered = await discover(platform, url);
    const client = await clientFor(platform, url, auth, discovered.metadata);
    const source = sourceOf(url, discovered, client);
    // An authorization server that does not know the client never returns the person.
    if (!isRegistered(platform, auth, client) || !(await hasUnfinished(platform, userId, server.name)))
      return { ...discovered, source };
    if (await knowsClient(platform, source)) return { ...discovered, source };
    await forgetClient(platform, source.issuer, client);
    return {
      ...discovered,
      source: sourceOf(url, discovered, await clientFor(platform, url, auth, discovered.metadata)),
    };
  });
  const before = usableCredentials(
    platform,
    server,
    await findConnectionRow(platform.database.read, userId, server.name),
  );
  const moreScopes = before?.type === 'oauth' ? (before.moreScopes ?? []) : [];
  const requested = auth.scopes ?? joinScopes(scopes, moreScopes);
  const [state, verifier] = [newRandom(), newRandom()];
  const pending: Pending = {
    verifier,
    namesIssuer: metadata.authorization_response_iss_parameter_supported === true,
    source: { ...source, moreScopes },
  };
  const stateHash = secretHash(state);
  const browserSecret = await platform.ledger.change(person.actor, async (change) => {
    const { db, now } = change;
    await person.reauthorize(db);
    if (person.principal.via === 'external') await platform.owners.ensureExternal(change, person.principal);
    await db.deleteFrom('gateway_oauth_states').where('expires_at', '<=', now).execute();
    const own = await db
      .selectFrom('gateway_oauth_states')
      .select(['state_hash', 'browser_hash', 'server'])
      .where('user_id', '=', userId)
      .orderBy('expires_at', 'desc')
      .execute();
    const keptHash = kept === undefined ? undefined : secretHash(kept);
    const isOwn =
      keptHash !== undefined &&
      own.some((row) => row.server === server.name && secretsEqual(row.browser_hash, keptHash));
    const secret = kept !== undefined && isOwn ? kept : newRandom();
    const surplus = own.slice(MAX_STATES - 1).map((row) => row.state_hash);
    if (surplus.length > 0) await db.deleteFrom('gateway_oauth_states').where('state_hash', 'in', surplus).execute();
    await db
      .insertInto('gateway_oauth_states')
      .values({
        state_hash: stateHash,
        user_id: userId,
        server: server.name,
        browser_hash: secretHash(secret),
        sealed: seal(platform.secrets().pepper, PURPOSE, stateHash, JSON.stringify(pending)),
        expires_at: now + STATE_LIFE_MS,
      })
      .execute();
    return secret;
  });
  const address = new URL(metadata.authorization_endpoint);
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: source.clientId,
    redirect_uri: redirectUri(platform),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
    ...(requested.length > 0 && { scope: requested.join(' ') }),
    // Without it, OpenID providers issue no refresh token (OpenID Connect Core, section 11).
    ...(requested.includes(OFFLINE_ACCESS) && { prompt: 'consent' }),
  }))
    address.searchParams.set(name, value);
  return { address: address.href, issuer: source.issuer, browserSecret };
}

function sourceOf(server: string, { resource, metadata }: Discovered, client: UpstreamClient): TokenSource {
  const { issuer, token_endpoint_auth_methods_supported: methods } = metadata;
  return {
    type: 'oauth',
    server,
    issuer,
    resource,
    ...client,
    tokenEndpoint: metadata.token_endpoint,
    revocationEndpoint: metadata.revocation_endpoint,
    secretInBody: methods !== undefined && !methods.includes('client_secret_basic'),
  };
}

/** Returns whether the person has begun a sign-in at the server that has not come back yet. */
async function hasUnfinished(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  userId: Id<'user'>,
  server: string,
): Promise<boolean> {
  const row = await database.read
    .selectFrom('gateway_oauth_states')
    .select('state_hash')
    .where('user_id', '=', userId)
    .where('server', '=', server)
    .where('expires_at', '>', clock.now())
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

const exchange = (site: Site, code: string, verifier: string) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: redirectUri(site),
  code_verifier: verifier,
});

/** Asks with a code that cannot be valid: only an authorization server that knows the client looks at the code. */
const knowsClient = (
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'stateOf'>,
  source: TokenSource,
): Promise<boolean> =>
  askForTokens(platform, source, exchange(platform, newRandom(), newRandom())).then(
    () => true,
    (error: unknown) => !(error instanceof ClientUnknown),
  );

export interface SignInAnswer {
  readonly state?: string | undefined;
  readonly code?: string | undefined;
  readonly iss?: string | undefined;
  readonly error?: string | undefined;
  readonly error_description?: string | undefined;
}

/**
 * Completes a sign-in: consumes the state, which is valid once for the person and browser that began, checks the issuer
 * of the answer (RFC 9207), and exchanges the code. `secretFor` returns the secret that the browser keeps for a server.
 * `isLast`: this browser has no other unfinished sign-in at the server.
 * Throws 400 CONNECTION_SIGN_IN_INVALID, 502 CONNECTION_UPSTREAM_FAILED.
 */
export async function endSignIn(
  platform: Platform,
  person: Person,
  secretFor: (server: string) => string | undefined,
  answer: SignInAnswer,
): Promise<{
  readonly server: string;
  readonly credentials: OAuthCredentials | undefined;
  readonly isLast: boolean;
}> {
  const { state, code, iss, error } = answer;
  if (state === undefined) throw ConnectionErrors.CONNECTION_SIGN_IN_INVALID();
  const stateHash = secretHash(state);
  const { row, isLast } = await platform.ledger.change(person.actor, async ({ db, now }) => {
    await person.reauthorize(db);
    const begun = await db
      .selectFrom('gateway_oauth_states')
      .select('server')
      .where('state_hash', '=', stateHash)
      .executeTakeFirst();
    const browserSecret = begun && secretFor(begun.server);
    if (browserSecret === undefined) throw ConnectionErrors.CONNECTION_SIGN_IN_INVALID();
    const ended = await db
      .deleteFrom('gateway_oauth_states')
      .where('state_hash', '=', stateHash)
      .where('browser_hash', '=', secretHash(browserSecret))
      .where('user_id', '=', person.principal.userId)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst();
    const other = await db
      .selectFrom('gateway_oauth_states')
      .select('state_hash')
      .where('browser_hash', '=', secretHash(browserSecret))
      .where('user_id', '=', person.principal.userId)
      .where('expires_at', '>', now)
      .limit(1)
      .executeTakeFirst();
    return { row: ended, isLast: other === undefined };
  });
  if (!row) throw ConnectionErrors.CONNECTION_SIGN_IN_INVALID();
  const pending = JSON.parse(unseal(platform.secrets().pepper, PURPOSE, stateHash, row.sealed)) as Pending;
  const { source, verifier, namesIssuer } = pending;
  if (iss === undefined ? namesIssuer : iss !== source.issuer) throw ConnectionErrors.CONNECTION_SIGN_IN_INVALID();
  if (error !== undefined || code === undefined) {
    const answered = [error ?? 'without a code', answer.error_description?.slice(0, 300)].filter(Boolean).join(': ');
    const refusal = { server: row.server, problem: `${source.issuer} answered ${answered}` };
    platform.log.warn(refusal, 'A sign-in at a server behind the gateway was refused');
    return { server: row.server, credentials: undefined, isLast };
  }
  const grant = exchange(platform, code, verifier);
  const credentials = await askForTokens(platform, source, grant).catch((failure: unknown) => {
    throw upstreamFailed(platform, failure instanceof Error ? failure.message : String(failure));
  });
  return { server: row.server, credentials, isLast };
}
