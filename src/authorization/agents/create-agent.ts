import type { Caller } from '../../access/caller.ts';
import type { PlainText } from '../../kernel/branded.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow, UserRow } from '../../storage/index.ts';
import { assertPolicyWeight } from '../permissions/policy-weight.ts';
import { nameColumns, permissionColumns, toAgent } from './agent.ts';
import { AgentErrors } from './errors.ts';
import { redactedFields, settingsOf } from './event-fields.ts';
import { type Maker, makerOf, NOBODY } from './maker.ts';
import { assertMayGrant } from './narrowed.ts';
import type { AgentWithToken, CreateAgent } from './schema.ts';
import { assertInFuture, assertRoomForAgent } from './store.ts';

/**
 * Registers an agent and issues its token, which is shown only in this answer. Emits `agent.created`. 403 FORBIDDEN for
 * an owner who is not visible to the caller, INSUFFICIENT_PERMISSIONS for permissions beyond a narrowed credential; 422
 * OWNER_NOT_FOUND, EXPIRES_AT_IN_PAST, POLICY_TOO_LARGE, AGENT_LIMIT_EXCEEDED.
 */
export async function createAgent(
  platform: Pick<Platform, 'config' | 'ledger' | 'owners' | 'redactedKeys' | 'stateOf'>,
  caller: Caller,
  input: CreateAgent,
): Promise<AgentWithToken> {
  const token = newSecret('agentToken');
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const visibility = await caller.reauthorize(db);
    if (visibility.kind !== 'all' && input.ownerId !== visibility.userId)
      throw CommonErrors.FORBIDDEN({ message: 'ownerId must be your own id.' });
    await assertMayGrant(platform, db, caller.principal, input.permissions);
    const owner = await takeOwner(platform, change, { visibility, principal: caller.principal }, input.ownerId);
    const row = await insert(platform, change, input, owner, token, await makerOf(db, caller.principal));
    return Object.assign(toAgent(row, now), { token });
  });
}

/**
 * Registers an agent of a known user within a change and discards its token. Emits `agent.created`. 422
 * OWNER_NOT_FOUND, EXPIRES_AT_IN_PAST, AGENT_LIMIT_EXCEEDED.
 */
export async function insertAgent(
  platform: Pick<Platform, 'config' | 'owners' | 'redactedKeys'>,
  change: Change,
  input: CreateAgent,
): Promise<AgentRow> {
  const owner = await platform.owners.find(change.db, input.ownerId);
  if (!owner) throw AgentErrors.OWNER_NOT_FOUND();
  return insert(platform, change, input, owner, newSecret('agentToken'));
}

async function insert(
  platform: Pick<Platform, 'config' | 'redactedKeys'>,
  change: Change,
  input: CreateAgent,
  owner: Owner,
  token: PlainText,
  maker: Maker = NOBODY,
): Promise<AgentRow> {
  const { db, now } = change;
  const expiresAt = input.expiresAt ?? null;
  assertInFuture(expiresAt, now);
  assertPolicyWeight(input.permissions);
  await assertRoomForAgent(platform, db, input.ownerId, now);
  const row: AgentRow = {
    id: newId('agent', now),
    owner_id: input.ownerId,
    tenant_id: owner.tenant_id,
    ...nameColumns(input.name),
    type: input.type,
    token_hash: secretHash(token),
    revoked_at: null,
    expires_at: expiresAt,
    owner_suspended: owner.suspended_at === null ? 0 : 1,
    ...permissionColumns(input.permissions),
    metadata: JSON.stringify(input.metadata ?? {}),
    created_at: now,
    updated_at: now,
    // No cache contains a new agent, so nothing is invalidated and the epoch does not change.
    policy_epoch: change.previousEpoch,
    ...maker,
  };
  await db.insertInto('agents').values(row).execute();
  change.emit({
    type: 'agent.created',
    agentId: row.id,
    userId: row.owner_id,
    data: { agentId: row.id, name: row.name, ownerId: row.owner_id, type: row.type },
    after: redactedFields(settingsOf(toAgent(row, now)), platform.redactedKeys),
  });
  return row;
}

/** The fields of an owner that are copied to their agents. */
type Owner = Pick<UserRow, 'tenant_id' | 'suspended_at'>;

/**
 * Returns the owner. Adds a bare record without credentials (contract 4) for a user whom the embedding application has
 * authenticated, and for one whom an admin names while `users.allowExternalOwners` is on. Throws 422 OWNER_NOT_FOUND.
 */
async function takeOwner(
  { config, owners }: Pick<Platform, 'config' | 'owners'>,
  change: Change,
  by: Pick<Caller, 'principal' | 'visibility'>,
  ownerId: Id<'user'>,
): Promise<Owner> {
  const { principal, visibility } = by;
  const known = await owners.find(change.db, ownerId);
  const external =
    principal.kind === 'user' && principal.via === 'external' && principal.userId === ownerId ? principal : undefined;
  if (known) return { tenant_id: external?.tenantId ?? known.tenant_id, suspended_at: known.suspended_at };
  if (!external && !(visibility.kind === 'all' && config.users.allowExternalOwners))
    throw AgentErrors.OWNER_NOT_FOUND();
  const tenantId = external?.tenantId ?? null;
  await owners.ensureExternal(change, { userId: ownerId, tenantId });
  return { tenant_id: tenantId, suspended_at: null };
}
