import type { Caller } from '../../access/caller.ts';
import { assertMayChange, getAgentRow, getChangeableAgent } from '../../authorization/agents/index.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentKeysRow, AgentRow } from '../../storage/index.ts';
import { endGrants } from '../consent/grants.ts';
import { AgentKeysErrors } from './errors.ts';
import type { AgentKeys, SetAgentKeys } from './schema.ts';
import { findAgentKeys } from './store.ts';

const toKeys = (row: AgentKeysRow): AgentKeys =>
  versioned({ ...(JSON.parse(row.keys) as SetAgentKeys), updatedAt: isoTime(row.updated_at) }, row);

/** Throws 404 AGENT_NOT_FOUND, AGENT_KEYS_NOT_FOUND. */
export async function getKeys(
  { database }: Pick<Platform, 'database'>,
  { visibility }: Caller,
  agentId: Id<'agent'>,
): Promise<AgentKeys> {
  const db = database.read;
  await getAgentRow(db, visibility, agentId);
  const row = await findAgentKeys(db, agentId);
  if (!row) throw AgentKeysErrors.AGENT_KEYS_NOT_FOUND();
  return toKeys(row);
}

/**
 * Replaces the keys of an agent. Access tokens that it obtained for itself end in the same change. Throws 403 like
 * every change of the agent, 404 AGENT_NOT_FOUND, 409 AGENT_REVOKED, 412 PRECONDITION_FAILED.
 */
export async function setKeys(
  platform: Pick<Platform, 'ledger' | 'stateOf'>,
  caller: Caller,
  agentId: Id<'agent'>,
  input: SetAgentKeys,
): Promise<AgentKeys> {
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const { agent, before } = await readForChange(platform, caller, change, agentId);
    caller.assertUnchanged?.(before && toKeys(before));
    const row: AgentKeysRow = { agent_id: agent.id, keys: JSON.stringify(input), updated_at: now };
    if (before?.keys === row.keys) return toKeys(before);
    await db
      .insertInto('agent_keys')
      .values(row)
      .onConflict((oc) => oc.column('agent_id').doUpdateSet({ keys: row.keys, updated_at: now }))
      .execute();
    await recordChange(change, agent, before, row);
    return toKeys(row);
  });
}

/**
 * Removes the keys of an agent. Access tokens that it obtained for itself end in the same change. Throws 403 like every
 * change of the agent, 404 AGENT_NOT_FOUND, AGENT_KEYS_NOT_FOUND, 409 AGENT_REVOKED, 412 PRECONDITION_FAILED.
 */
export async function removeKeys(
  platform: Pick<Platform, 'ledger' | 'stateOf'>,
  caller: Caller,
  agentId: Id<'agent'>,
): Promise<void> {
  await platform.ledger.change(caller.actor, async (change) => {
    const { agent, before } = await readForChange(platform, caller, change, agentId);
    if (!before) throw AgentKeysErrors.AGENT_KEYS_NOT_FOUND();
    caller.assertUnchanged?.(toKeys(before));
    await change.db.deleteFrom('agent_keys').where('agent_id', '=', agent.id).execute();
    await recordChange(change, agent, before, undefined);
  });
}

async function readForChange(
  platform: Pick<Platform, 'stateOf'>,
  caller: Caller,
  { db, now }: Change,
  agentId: Id<'agent'>,
) {
  const agent = await getChangeableAgent(db, await caller.reauthorize(db), agentId);
  await assertMayChange(platform, db, caller.principal, agent, now);
  return { agent, before: await findAgentKeys(db, agent.id) };
}

async function recordChange(
  change: Change,
  { id, owner_id }: Pick<AgentRow, 'id' | 'owner_id'>,
  before: AgentKeysRow | undefined,
  after: AgentKeysRow | undefined,
): Promise<void> {
  // The agent had no keys before, so no access token depends on replaced ones.
  if (before) await endGrants(change, 'agent_id', [id], 'keys-changed', 'client_credentials');
  change.emit({
    type: 'agent.keys',
    agentId: id,
    userId: owner_id,
    data: { agentId: id, set: after !== undefined },
    ...(before ? { before: { ...toKeys(before) } } : {}),
    ...(after ? { after: { ...toKeys(after) } } : {}),
  });
}

/** Removes the keys of all agents of a user. */
export async function removeKeysOfUser(change: Change, userId: Id<'user'>): Promise<void> {
  const rows = await change.db
    .selectFrom('agent_keys')
    .innerJoin('agents', 'agents.id', 'agent_keys.agent_id')
    .selectAll('agent_keys')
    .where('agents.owner_id', '=', userId)
    .orderBy('agent_id')
    .execute();
  for (const some of chunk(rows)) {
    const ids = some.map((row) => row.agent_id);
    await change.db.deleteFrom('agent_keys').where('agent_id', 'in', ids).execute();
    for (const row of some) await recordChange(change, { id: row.agent_id, owner_id: userId }, row, undefined);
  }
}
