import { ANONYMOUS } from '../../../access/principal.ts';
import { isActive } from '../../../authorization/agents/index.ts';
import { createDelegation } from '../../../authorization/delegations/index.ts';
import { LegateError } from '../../../kernel/errors.ts';
import { secretHash } from '../../../kernel/secrets.ts';
import type { Platform } from '../../../platform.ts';
import { OAuthErrors } from '../../errors.ts';
import { serverOf, targetOf } from '../../resource.ts';
import { narrowScopes, permissionsOfScopes, scopeNames } from '../../scope.ts';
import { type Act, grantOfJti } from '../../tokens/access-token.ts';
import { findLiveToken } from '../../tokens/live-token.ts';
import { accessToken, insertGrant, type TokenResponse } from '../issue-tokens.ts';

export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token';
/** The agent token of the actor: a token of ours that is no JWT (RFC 8693, section 3, allows further types). */
export const AGENT_TOKEN_TYPE = 'urn:legate:token-type:agent_token';

export interface TokenExchange {
  readonly subject_token?: string | undefined;
  readonly subject_token_type?: string | undefined;
  readonly actor_token?: string | undefined;
  readonly actor_token_type?: string | undefined;
  readonly requested_token_type?: string | undefined;
  readonly scope?: string | undefined;
  readonly resource?: string | undefined;
  readonly audience?: string | undefined;
}

/**
 * Token exchange (RFC 8693, contract 12.9): the wire form of a delegation. The agent of `actor_token` gets a token that keeps the
 * subject and names the actor, with no more scope than the subject token has; behind it stands a delegation from the one agent to the
 * other. It dies with the subject token's grant, with the delegation and with either agent.
 */
export async function exchangeToken(platform: Platform, input: TokenExchange): Promise<TokenResponse> {
  const { subject_token: subjectToken, actor_token: actorToken } = input;
  if (subjectToken === undefined || input.subject_token_type !== ACCESS_TOKEN_TYPE)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({
      message: `subject_token and subject_token_type=${ACCESS_TOKEN_TYPE} are required.`,
    });
  if (actorToken === undefined)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'actor_token, the agent token of the actor, is required.' });
  if (
    input.actor_token_type !== undefined &&
    input.actor_token_type !== AGENT_TOKEN_TYPE &&
    input.actor_token_type !== ACCESS_TOKEN_TYPE
  )
    throw OAuthErrors.OAUTH_INVALID_REQUEST({
      message: `actor_token_type must be ${AGENT_TOKEN_TYPE} or ${ACCESS_TOKEN_TYPE}.`,
    });
  if (input.requested_token_type !== undefined && input.requested_token_type !== ACCESS_TOKEN_TYPE)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'Only access tokens are issued.' });
  const db = platform.database.read;
  const now = platform.clock.now();
  const subject = await findLiveToken(platform, db, subjectToken, now);
  if (!subject)
    throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'subject_token is not valid, has expired or was revoked.' });
  const actor = await db
    .selectFrom('agents')
    .selectAll()
    .where('token_hash', '=', secretHash(actorToken))
    .executeTakeFirst();
  if (!actor || !isActive(actor, now))
    throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'actor_token is not the token of an active agent.' });
  const target = await targetOf(platform, input.resource ?? input.audience ?? subject.aud);
  if (target.resource !== subject.aud)
    throw OAuthErrors.OAUTH_INVALID_TARGET({ message: 'The subject token is for another resource.' });
  const scopes = narrowScopes(scopeNames(subject.scope), input.scope).filter((name) => name !== 'offline_access');
  // Whoever acted before is the actor's predecessor (RFC 8693, section 4.1): the newest actor is outermost.
  const holder = subject.act?.sub ?? subject.sub;
  const act: Act = { sub: actor.id, ...(subject.act ? { act: subject.act } : {}) };
  const delegation = await delegate(
    platform,
    holder,
    actor.id,
    scopes,
    subject.user_id,
    subject.exp * 1000,
    await serverOf(platform, subject.aud),
  );
  return platform.ledger.change(async (change) => {
    if (!(await findLiveToken(platform, change.db, subjectToken, change.now)))
      throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'subject_token has just ended.' });
    const grant = await insertGrant(platform, change, {
      client_id: subject.client_id,
      user_id: subject.user_id,
      agent_id: subject.sub,
      actor_id: actor.id,
      delegation_id: delegation,
      parent_id: grantOfJti(subject.jti),
      parent_jti: subject.jti,
      kind: 'token_exchange',
      scope: scopes.join(' '),
      resource: subject.aud,
      expires_at: subject.exp * 1000,
    });
    return {
      ...accessToken(platform, grant, change.now, { act, notAfter: subject.exp }),
      issued_token_type: ACCESS_TOKEN_TYPE,
    };
  });
}

/** The delegation behind the token, of what its scopes permit on MCP servers; null when they permit nothing there. */
async function delegate(
  platform: Platform,
  from: string,
  to: string,
  scopes: readonly string[],
  userId: string,
  expiresAt: number,
  server: string | undefined,
): Promise<string | null> {
  if (from === to) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'The actor is the subject itself.' });
  const permissions = permissionsOfScopes(platform, scopes, server);
  const visibility = { kind: 'owner', userId } as const;
  if (permissions.length === 0)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({
      message: 'None of these scopes permits anything on MCP servers: there is nothing to pass on.',
    });
  try {
    const made = await createDelegation(
      platform,
      { visibility, reauthorize: async () => visibility, principal: ANONYMOUS },
      { fromAgent: from, toAgent: to, permissions, expiresAt },
    );
    return made.id;
  } catch (error) {
    if (error instanceof LegateError && error.status < 500)
      throw OAuthErrors.OAUTH_INVALID_REQUEST({
        message: `The delegation is refused (${error.code}): ${error.message}`,
      });
    throw error;
  }
}
