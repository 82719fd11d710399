import type { Caller } from '../../access/caller.ts';
import { assertMayChange, getAgentRow, getChangeableAgent } from '../../authorization/agents/index.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import { findIssuer } from '../../people/federation/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentTrustRow, Db } from '../../storage/index.ts';
import { endGrants } from '../consent/grants.ts';
import { TrustErrors } from './errors.ts';
import { type CreateTrust, MAX_TRUST, type Trust } from './schema.ts';
import { hasWildcard, literalPrefix } from './subject-pattern.ts';

const toTrust = (row: AgentTrustRow): Trust => ({
  id: row.id,
  issuer: row.issuer,
  subject: row.subject,
  ...(row.audience === null ? {} : { audience: row.audience }),
  ...(row.claims === '{}' ? {} : { claims: JSON.parse(row.claims) as NonNullable<Trust['claims']> }),
  createdAt: isoTime(row.created_at),
});

const findTrust = (db: Db, agentId: Id<'agent'>): Promise<AgentTrustRow[]> =>
  db.selectFrom('agent_trust').selectAll().where('agent_id', '=', agentId).orderBy('id').execute();

/** Returns the workloads that an agent trusts, oldest first. Throws 404 AGENT_NOT_FOUND. */
export async function listTrust(
  { database }: Pick<Platform, 'database'>,
  { visibility }: Caller,
  agentId: Id<'agent'>,
): Promise<Trust[]> {
  const db = database.read;
  await getAgentRow(db, visibility, agentId);
  return (await findTrust(db, agentId)).map(toTrust);
}

/**
 * Lets a workload act as an agent. Throws 403 like every change of the agent, 404 AGENT_NOT_FOUND, 409 AGENT_REVOKED,
 * 422 ISSUER_UNKNOWN, TRUST_LIMIT_EXCEEDED.
 */
export async function addTrust(
  platform: Pick<Platform, 'database' | 'ledger' | 'stateOf'>,
  caller: Caller,
  agentId: Id<'agent'>,
  input: CreateTrust,
): Promise<Trust> {
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const agent = await getChangeableAgent(db, await caller.reauthorize(db), agentId);
    await assertMayChange(platform, db, caller.principal, agent, now);
    if (!(await findIssuer(platform, db, { issuer: input.issuer, use: 'workload' })))
      throw TrustErrors.ISSUER_UNKNOWN({ details: { path: 'issuer' } });
    if ((await findTrust(db, agent.id)).length >= MAX_TRUST)
      throw TrustErrors.TRUST_LIMIT_EXCEEDED({ details: { limit: MAX_TRUST } });
    const row: AgentTrustRow = {
      id: newId('trust', now),
      agent_id: agent.id,
      issuer: input.issuer,
      subject: input.subject,
      subject_prefix: hasWildcard(input.subject) ? literalPrefix(input.subject) : null,
      audience: input.audience ?? null,
      claims: JSON.stringify(input.claims ?? {}),
      created_at: now,
    };
    await db.insertInto('agent_trust').values(row).execute();
    const trust = toTrust(row);
    change.emit({
      type: 'trust.created',
      agentId: agent.id,
      userId: agent.owner_id,
      data: { agentId: agent.id, trustId: row.id, issuer: row.issuer, subject: row.subject },
      after: { ...trust },
    });
    return trust;
  });
}

/**
 * Removes one trusted workload of an agent, or all of them. Access tokens issued through them end in the same change.
 * Throws 403 like every change of the agent, 404 AGENT_NOT_FOUND, TRUST_NOT_FOUND, 409 AGENT_REVOKED.
 */
export async function removeTrust(
  platform: Pick<Platform, 'ledger' | 'stateOf'>,
  caller: Caller,
  agentId: Id<'agent'>,
  trustId: string | undefined,
): Promise<void> {
  await platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const agent = await getChangeableAgent(db, await caller.reauthorize(db), agentId);
    await assertMayChange(platform, db, caller.principal, agent, now);
    const rows = (await findTrust(db, agent.id)).filter(({ id }) => trustId === undefined || id === trustId);
    if (rows.length === 0 && trustId !== undefined) throw TrustErrors.TRUST_NOT_FOUND();
    await endTrust(change, agent.owner_id, rows);
  });
}

async function endTrust(change: Change, ownerId: Id<'user'>, rows: readonly AgentTrustRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return;
  await change.db.deleteFrom('agent_trust').where('id', 'in', ids).execute();
  await endGrants(change, 'trust_id', ids, 'trust-deleted');
  for (const row of rows)
    change.emit({
      type: 'trust.deleted',
      agentId: row.agent_id,
      userId: ownerId,
      data: { agentId: row.agent_id, trustId: row.id, issuer: row.issuer, subject: row.subject },
      before: { ...toTrust(row) },
    });
}

/** Removes the trusted workloads of all agents of a user. */
export async function endTrustOfUser(change: Change, userId: Id<'user'>): Promise<void> {
  const rows = await change.db
    .selectFrom('agent_trust')
    .innerJoin('agents', 'agents.id', 'agent_trust.agent_id')
    .selectAll('agent_trust')
    .where('agents.owner_id', '=', userId)
    .orderBy('agent_trust.id')
    .execute();
  for (const some of chunk(rows)) await endTrust(change, userId, some);
}
