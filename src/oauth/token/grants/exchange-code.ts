import { createHash } from 'node:crypto';
import { type Actor, SYSTEM } from '../../../access/actor.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { RefusalReason } from '../../../kernel/refusals.ts';
import { type SecretHash, secretHash, secretsEqual } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { type Database, type Db, type OAuthCodeRow, prepared } from '../../../storage/index.ts';
import type { Client } from '../../clients/client.ts';
import { endGrants } from '../../consent/grants.ts';
import { OAuthErrors } from '../../errors.ts';
import { getTarget, isRegistered, noLongerRegistered, type Target } from '../../resource.ts';
import { inactiveAgent, mayAgentAct } from '../../tokens/active-agent.ts';
import { firstTokens, insertGrant, type TokenResponse } from '../issue-tokens.ts';
import { type CodeRequest, missingParameter } from '../token-request.ts';

/**
 * `grant_type=authorization_code` (OAuth 2.1, section 4.1.3). A request with a missing parameter, or for another
 * resource, does not use the code. Otherwise one atomic statement marks the code as used before its other parameters
 * are checked, so a code allows one attempt. A second use ends the grant that the first one created (contract 12.5).
 */
export async function exchangeCode(
  platform: Platform,
  client: Client,
  request: CodeRequest,
  from: Actor,
): Promise<TokenResponse> {
  const target = request.resource === undefined ? undefined : await getTarget(platform, request.resource);
  return platform.ledger.changeTogether({ ...from, clientId: client.id }, (change) =>
    exchangeOne(platform, change, client, request, target),
  );
}

/** Returns refusals instead of throwing them, so that the change commits and the code stays used. */
async function exchangeOne(
  platform: Pick<Platform, 'audience' | 'config' | 'database' | 'issuer' | 'secrets' | 'stateOf'>,
  change: Change,
  client: Client,
  request: CodeRequest,
  target: Target | undefined,
): Promise<TokenResponse | LegateError> {
  const { db, now } = change;
  const hash = secretHash(request.code);
  if (request.redirect_uri === undefined && (await needsRedirectUri(platform.database, db, client, hash)))
    return missingParameter('redirect_uri');
  const code = target
    ? await consumeCodeFor(platform.database, db, now, hash, client.id, target.resource)
    : await consumeCode(platform.database, db, now, hash, client.id);
  if (!code) return handleUnusableCode(change, client, hash);
  if (now >= code.expires_at) return refused('code-expired');
  if (!matchesStatedRedirectUri(client, code.redirect_uri, request.redirect_uri)) return refused('code-redirect-uri');
  if (!matchesChallenge(request.code_verifier, code.challenge)) return refused('code-verifier');
  if (!(await isRegistered(platform, db, code.resource))) return noLongerRegistered();
  if (!(await mayAgentAct(platform.database, db, code.agent_id, now))) return inactiveAgent();
  return issue(platform, change, client, code);
}

async function needsRedirectUri(database: Database, db: Db, client: Client, hash: SecretHash): Promise<boolean> {
  const code = await findRedirectUri(database, db, hash, client.id);
  return code !== undefined && code.redirect_uri !== null;
}

const findRedirectUri = prepared((db, hash: SecretHash, clientId: Id<'client'>) =>
  db
    .selectFrom('oauth_codes')
    .select('redirect_uri')
    .where('code_hash', '=', hash)
    .where('client_id', '=', clientId)
    .compile(),
);

const markUsed = (db: Db, now: number, hash: SecretHash, clientId: Id<'client'>) =>
  db
    .updateTable('oauth_codes')
    .set({ used_at: now })
    .where('code_hash', '=', hash)
    .where('client_id', '=', clientId)
    .where('used_at', 'is', null)
    .returningAll();

const consumeCode = prepared<[number, SecretHash, Id<'client'>], OAuthCodeRow>((db, now, hash, clientId) =>
  markUsed(db, now, hash, clientId).compile(),
);

const consumeCodeFor = prepared<[number, SecretHash, Id<'client'>, string], OAuthCodeRow>(
  (db, now, hash, clientId, resource) => markUsed(db, now, hash, clientId).where('resource', '=', resource).compile(),
);

const linkGrant = prepared((db, grantId: Id<'grant'>, hash: SecretHash) =>
  db.updateTable('oauth_codes').set({ grant_id: grantId }).where('code_hash', '=', hash).compile(),
);

/**
 * Returns why a code cannot be used. A second use by its client ends the grant (RFC 9700, section 4.5). A code for
 * another resource stays usable (RFC 8707, section 2.2).
 */
async function handleUnusableCode(change: Change, client: Client, hash: SecretHash): Promise<LegateError> {
  const code = await change.db
    .selectFrom('oauth_codes')
    .select(['client_id', 'grant_id', 'used_at', 'expires_at'])
    .where('code_hash', '=', hash)
    .executeTakeFirst();
  if (!code) return refused('code-unknown');
  if (code.client_id !== client.id) return refused('code-of-another-client');
  if (code.used_at === null) return change.now >= code.expires_at ? refused('code-expired') : wrongResource();
  // The service revokes the grant by itself to protect the person, so it is the actor.
  change.actAs({ ...change.actor, ...SYSTEM });
  if (code.grant_id) await endGrants(change, 'id', [code.grant_id], 'code-reused');
  return refused('code-reused');
}

const wrongResource = () =>
  OAuthErrors.OAUTH_INVALID_TARGET({
    reason: 'code-resource',
    message: 'The code was issued for another resource.',
  });

async function issue(
  platform: Pick<Platform, 'config' | 'database' | 'issuer' | 'secrets' | 'stateOf'>,
  change: Change,
  client: Client,
  code: OAuthCodeRow,
): Promise<TokenResponse> {
  const { db } = change;
  change.actAs({ ...change.actor, kind: 'user', id: code.user_id });
  const grant = await insertGrant(platform, change, {
    ...(code.grant_id === null ? {} : { id: code.grant_id }),
    client_id: client.id,
    user_id: code.user_id,
    agent_id: code.agent_id,
    kind: 'authorization_code',
    scope: code.scope,
    resource: code.resource,
  });
  if (code.grant_id === null) await linkGrant(platform.database, db, grant.id, code.code_hash);
  return firstTokens(platform, change, client, grant);
}

/** The message is the same for every reason, so that it does not reveal which codes exist. */
const refused = (reason: RefusalReason) =>
  OAuthErrors.OAUTH_INVALID_GRANT({
    reason,
    message: 'The code is not valid, has expired, was used, or does not fit this request.',
  });

/**
 * If the authorization request omitted it, this request may omit it or name the only registered one (RFC 6749, 4.1.3).
 */
const matchesStatedRedirectUri = (client: Client, stated: string | null, presented: string | undefined): boolean =>
  stated === null ? presented === undefined || presented === client.redirectUris[0] : presented === stated;

/** PKCE with S256 (RFC 7636, section 4.6); the verifier has 43 to 128 unreserved characters (section 4.1). */
const matchesChallenge = (verifier: string, challenge: string): boolean =>
  /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) &&
  secretsEqual(createHash('sha256').update(verifier).digest('base64url'), challenge);
