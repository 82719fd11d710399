import type { Actor } from '../../../access/actor.ts';
import { ANONYMOUS } from '../../../access/principal.ts';
import { mayAct } from '../../../authorization/agents/index.ts';
import { createDelegationIn } from '../../../authorization/delegations/index.ts';
import {
  type EffectivePermission,
  effectivePermissions,
  intersectActions,
  intersectPatterns,
  PatternIndex,
  type Permission,
  readChains,
} from '../../../authorization/permissions/index.ts';
import { SECOND_MS } from '../../../kernel/clock.ts';
import { LegateError } from '../../../kernel/errors.ts';
import { asId, type Id } from '../../../kernel/ids.ts';
import type { RefusalReason } from '../../../kernel/refusals.ts';
import { secretHash } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { AgentRow, Db } from '../../../storage/index.ts';
import { OAuthErrors } from '../../errors.ts';
import { findServerName, getTarget } from '../../resource.ts';
import { narrowScopes, permissionsOfScopes, scopeNames } from '../../scope.ts';
import { type Act, type Claims, grantOfJti } from '../../tokens/access-token.ts';
import { checkLiveToken } from '../../tokens/live-token.ts';
import { accessToken, insertGrant, type TokenResponse } from '../issue-tokens.ts';
import { ACCESS_TOKEN_TYPE, type ExchangeRequest } from '../token-request.ts';

/**
 * Token exchange (RFC 8693, contract 12.9). The agent of `actor_token` gets a token with the same subject, itself as
 * actor, and at most the scopes of the subject token. A delegation from one agent to the other is created in the same
 * change. The token ends with the grant of the subject token, with the delegation, and with either agent.
 */
export async function exchangeToken(platform: Platform, request: ExchangeRequest, from: Actor): Promise<TokenResponse> {
  const db = platform.database.read;
  const now = platform.clock.now();
  const subject = await readSubject(platform, db, request.subject_token, now);
  const actor = await readActor(db, request.actor_token, now);
  await assertSameTarget(platform, request, subject);
  const scopes = narrowScopes(scopeNames(subject.scope), request.scope).filter((name) => name !== 'offline_access');
  const permissions = await permissionsFor(platform, subject, actor, scopes);
  const by: Actor = {
    ...from,
    kind: 'agent',
    id: actor.id,
    userId: subject.user_id,
    clientId: subject.client_id,
    grantId: grantOfJti(subject.jti),
  };
  return platform.ledger.change(by, (change) => issue(platform, change, { request, subject, scopes, permissions }));
}

const invalidRequest = (reason: RefusalReason, message: string) =>
  OAuthErrors.OAUTH_INVALID_REQUEST({ reason, message });

async function readSubject(
  platform: Pick<Platform, 'audience' | 'config' | 'issuer' | 'secrets' | 'stateOf'>,
  db: Db,
  token: string,
  now: number,
): Promise<Claims> {
  const live = await checkLiveToken(platform, db, token, now);
  if (typeof live === 'string') throw invalidRequest(live, 'subject_token is not valid, has expired or was revoked.');
  return live.claims;
}

async function readActor(db: Db, token: string, now: number): Promise<AgentRow> {
  const actor = await db
    .selectFrom('agents')
    .selectAll()
    .where('token_hash', '=', secretHash(token))
    .executeTakeFirst();
  if (!actor || !mayAct(actor, now))
    throw invalidRequest('actor-token-unknown', 'actor_token is not the token of an active agent.');
  return actor;
}

async function assertSameTarget(
  platform: Pick<Platform, 'audience' | 'database'>,
  request: ExchangeRequest,
  subject: Claims,
): Promise<void> {
  for (const target of request.targets)
    if ((await getTarget(platform, target)).resource !== subject.aud)
      throw OAuthErrors.OAUTH_INVALID_TARGET({
        reason: 'exchange-target',
        message: 'The subject token is for another resource.',
      });
}

/** Returns the last actor of a token, which holds the permissions that an exchange passes on. */
const holderOf = ({ sub, act }: Claims): Id<'agent'> => act?.sub ?? sub;

/** Returns what the scopes allow on MCP servers and the last actor holds, which it delegates to the new one. */
async function permissionsFor(
  platform: Pick<Platform, 'audience' | 'clock' | 'config' | 'database'>,
  subject: Claims,
  actor: AgentRow,
  scopes: readonly string[],
): Promise<Permission[]> {
  if (holderOf(subject) === actor.id)
    throw invalidRequest('actor-is-subject', 'actor_token must belong to an agent other than the subject.');
  const allowed = permissionsOfScopes(platform, scopes, await findServerName(platform, subject.aud));
  if (allowed.length === 0)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({
      message: 'None of these scopes permits anything on MCP servers, so there is nothing to delegate.',
    });
  const permissions = commonPermissions(allowed, await heldFor(platform, subject));
  if (permissions.length === 0)
    throw invalidRequest(
      'exchange-delegation-refused',
      'The agent of subject_token holds no permission that these scopes allow.',
    );
  return permissions;
}

/**
 * What the holder of the subject token may pass on: what the subject holds, or what the exchange that issued the token
 * delegated, without the actor's other permissions.
 */
async function heldFor(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  subject: Claims,
): Promise<EffectivePermission[]> {
  const { permissions } = effectivePermissions(await readChains(database.read, holderOf(subject)), clock.now());
  if (subject.act === undefined) return permissions;
  const grant = await database.read
    .selectFrom('oauth_grants')
    .select('delegation_id')
    .where('id', '=', grantOfJti(subject.jti))
    .executeTakeFirst();
  return permissions.filter(
    ({ source }) => source.type === 'delegation' && source.delegationIds.at(-1) === grant?.delegation_id,
  );
}

/** The actions on resources that both lists allow, without those that a wider pattern of the result allows too. */
function commonPermissions(
  allowed: readonly Permission[],
  held: readonly Pick<Permission, 'resource' | 'actions'>[],
): Permission[] {
  const common = new Map<string, Set<string>>();
  for (const a of allowed)
    for (const b of held) {
      const resource = intersectPatterns(a.resource, b.resource);
      const actions = intersectActions(a.actions, b.actions);
      if (resource === undefined || actions.length === 0) continue;
      common.set(resource, new Set([...(common.get(resource) ?? []), ...actions]));
    }
  const index = new PatternIndex<string>();
  for (const resource of common.keys()) index.add(resource, resource);
  return [...common].flatMap(([resource, actions]) => {
    const wider = index.match(resource).filter((other) => other !== resource);
    const left = [...actions].filter((action) => !wider.some((other) => allows(common.get(other), action)));
    return left.length === 0 ? [] : [{ resource, actions: left }];
  });
}

const allows = (actions: ReadonlySet<string> | undefined, action: string): boolean =>
  actions !== undefined && (actions.has('*') || actions.has(action));

interface Exchange {
  readonly request: ExchangeRequest;
  readonly subject: Claims;
  readonly scopes: readonly string[];
  readonly permissions: Permission[];
}

/** Reads both tokens again: they may have been revoked or replaced since the request came. */
async function issue(
  platform: Pick<Platform, 'audience' | 'config' | 'database' | 'issuer' | 'secrets' | 'stateOf'>,
  change: Change,
  { request, subject, scopes, permissions }: Exchange,
): Promise<TokenResponse> {
  await readSubject(platform, change.db, request.subject_token, change.now);
  const actor = await readActor(change.db, request.actor_token, change.now);
  const grant = await insertGrant(platform, change, {
    client_id: subject.client_id,
    user_id: subject.user_id,
    agent_id: subject.sub,
    actor_id: actor.id,
    delegation_id: await delegate(platform, change, subject, actor, permissions),
    parent_id: grantOfJti(subject.jti),
    parent_jti: subject.jti,
    kind: 'token_exchange',
    scope: scopes.join(' '),
    resource: subject.aud,
    expires_at: subject.exp * SECOND_MS,
  });
  // The current actor is outermost, previous ones are nested (RFC 8693, section 4.1).
  const act: Act = { sub: actor.id, ...(subject.act ? { act: subject.act } : {}) };
  return {
    ...accessToken(platform, grant, change.now, { act, notAfter: subject.exp }),
    issued_token_type: ACCESS_TOKEN_TYPE,
  };
}

/** Creates the delegation of an exchanged token. Throws OAUTH_INVALID_REQUEST if its rules refuse it. */
async function delegate(
  platform: Pick<Platform, 'config' | 'stateOf'>,
  change: Change,
  subject: Claims,
  actor: AgentRow,
  permissions: Permission[],
): Promise<Id<'delegation'>> {
  const visibility = { kind: 'owner', userId: subject.user_id } as const;
  try {
    const delegation = await createDelegationIn(
      platform,
      change,
      { principal: ANONYMOUS, reauthorize: async () => visibility },
      { fromAgent: holderOf(subject), toAgent: actor.id, permissions, expiresAt: subject.exp * SECOND_MS },
    );
    return asId('delegation', delegation.id);
  } catch (error) {
    if (error instanceof LegateError && error.status < 500)
      throw invalidRequest(
        'exchange-delegation-refused',
        `The delegation was refused (${error.code}): ${error.message}`,
      );
    throw error;
  }
}
