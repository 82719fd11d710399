// Fills a database through the service's own storage with people, agents and earlier decisions, which takes seconds and
// would take much longer over HTTP.

import { newId } from '../../dist/kernel/ids.js';
import { searchKey } from '../../dist/kernel/search-words.js';
import { newSecret, secretHash } from '../../dist/kernel/secrets.js';
import { PostgresBatchStore } from '../../dist/ledger/postgres-store.js';
import { SqliteBatchStore } from '../../dist/ledger/sqlite-store.js';
import { migrate, openDatabase } from '../../dist/storage/index.js';

const AGENTS_AT_ONCE = 50;
const ROWS_AT_ONCE = 5000;
const DAYS_BACK = 30;

export const permissionsOf = (count) =>
  Array.from({ length: count }, (_, i) => ({ resource: `mcp:server${i}:*`, actions: ['read', 'write'] }));

export const userRow = (email, role, now) => ({
  id: newId('user', now),
  email,
  email_key: email,
  name: 'Owner',
  role,
  password_hash: null,
  email_verified: 1,
  two_factor_enabled: 0,
  tenant_id: null,
  created_at: now,
  updated_at: now,
});

export const apiTokenRow = (userId, token, now) => ({
  id: newId('apiToken', now),
  user_id: userId,
  name: 'bench',
  token_hash: secretHash(token),
  scopes: null,
  created_at: now,
  expires_at: null,
});

export const agentRow = (ownerId, name, token, permissions, now) => ({
  id: newId('agent', now),
  owner_id: ownerId,
  tenant_id: null,
  name,
  name_key: searchKey(name),
  permission_count: permissions,
  type: 'autonomous',
  token_hash: secretHash(token),
  revoked_at: null,
  expires_at: null,
  permissions: JSON.stringify(permissionsOf(permissions)),
  metadata: '{}',
  created_at: now,
  updated_at: now,
  policy_epoch: 1,
});

/** @typedef {{ id: string, token: string }} Agent */

/**
 * One owner with an API token, agents with 10 and 1,000 permissions, and `agents` more with 10 permissions each.
 * @returns {Promise<{ ownerId: string, ownerToken: string, small: Agent, large: Agent, many: string[], manyTokens:
 * string[] }>}
 */
export async function fillPeople(databaseUrl, agents) {
  const database = await openDatabase(databaseUrl, { serviceName: 'legate' });
  await migrate(database);
  const now = Date.now();
  const owner = userRow('owner@example.com', 'user', now);
  const ownerId = owner.id;
  const ownerToken = newSecret('apiToken');
  await database.write.insertInto('users').values(owner).execute();
  await database.write
    .insertInto('api_tokens')
    .values(apiTokenRow(ownerId, ownerToken, now))
    .execute();

  let made = 0;
  const make = (permissions) => {
    const token = newSecret('agentToken');
    const row = agentRow(ownerId, `Agent ${++made}`, token, permissions, now);
    return { id: row.id, token, row };
  };
  const small = make(10);
  const large = make(1000);
  const many = Array.from({ length: agents }, () => make(10));
  await database.write.transaction().execute(async (db) => {
    const rows = [small, large, ...many].map((a) => a.row);
    for (let at = 0; at < rows.length; at += AGENTS_AT_ONCE)
      await db
        .insertInto('agents')
        .values(rows.slice(at, at + AGENTS_AT_ONCE))
        .execute();
  });
  await database.close();
  return {
    ownerId,
    ownerToken,
    small: { id: small.id, token: small.token },
    large: { id: large.id, token: large.token },
    many: many.map((a) => a.id),
    manyTokens: many.map((a) => a.token),
  };
}

/** Creates an administrator in a database. Returns an API token. */
export async function addAdmin(databaseUrl) {
  const database = await openDatabase(databaseUrl, { serviceName: 'legate' });
  const now = Date.now();
  const admin = userRow('admin@example.com', 'admin', now);
  const token = newSecret('apiToken');
  await database.write.insertInto('users').values(admin).execute();
  await database.write
    .insertInto('api_tokens')
    .values(apiTokenRow(admin.id, token, now))
    .execute();
  await database.close();
  return token;
}

/** Inserts decisions of the agents, spread over the last month, with the ledger's own store of batches. */
export async function fillAudit(databaseUrl, people, rows) {
  const database = await openDatabase(databaseUrl, { serviceName: 'legate' });
  if (database.dialect === 'sqlite') database.writer.exec('pragma synchronous = off');
  const store = database.dialect === 'sqlite' ? new SqliteBatchStore(database) : new PostgresBatchStore(database);
  const start = Date.now() - DAYS_BACK * 86_400_000;
  for (let at = 0; at < rows; at += ROWS_AT_ONCE) {
    const head = await store.begin();
    const timestamp = Math.floor(start + ((Date.now() - 60_000 - start) * at) / rows);
    const records = Array.from({ length: Math.min(ROWS_AT_ONCE, rows - at) }, (_, i) => {
      const n = at + i;
      const denied = n % 10 === 0;
      return {
        id: newId('audit', timestamp),
        agentId: people.many[(n * 7919) % people.many.length],
        userId: people.ownerId,
        action: n % 3 === 0 ? 'write' : 'read',
        resource: `mcp:server${n % 12}:tool${n % 50}`,
        result: denied ? 'denied' : 'allowed',
        reason: denied ? 'NO_PERMISSION' : null,
        durationMs: 1.25,
        tokensCost: null,
        parameters: '{"repo":"octo/hello","page":1}',
        ip: '192.0.2.7',
        userAgent: null,
        delegationIds: null,
        decided: null,
      };
    });
    await store.commit({
      firstSeq: head.seq + 1,
      lastSeq: head.seq + records.length,
      timestamp,
      records,
      counters: [],
      kept: [],
      writer: 'bench',
    });
  }
  await database.close();
}

/** The rows in a segment of the ledger's index. The last rows are not in a stored segment yet. */
export const INDEX_SEGMENT = 16_384;

/** The sequence up to which the ledger's index is stored. */
export async function indexedUpTo(databaseUrl) {
  const database = await openDatabase(databaseUrl, { serviceName: 'legate' });
  const row = await database.read
    .selectFrom('projections')
    .select('upto')
    .where('name', '=', 'search')
    .executeTakeFirstOrThrow();
  await database.close();
  return row.upto;
}

/** The number of rows of type audit in the table, and how many of them allowed a call. */
export async function countAudit(databaseUrl) {
  const database = await openDatabase(databaseUrl, { serviceName: 'legate' });
  const of = database.read.selectFrom('stream_events').where('type', '=', 'audit');
  const { rows } = await of.select((eb) => eb.fn.countAll().as('rows')).executeTakeFirstOrThrow();
  const { refused } = await of
    .where('result', '<>', 'allowed')
    .select((eb) => eb.fn.countAll().as('refused'))
    .executeTakeFirstOrThrow();
  await database.close();
  return { rows: Number(rows), allowed: Number(rows) - Number(refused) };
}

/** The number of delegations per insert. */
const DELEGATIONS_AT_ONCE = 1000;

/**
 * Inserts active delegations between the given pairs of the owner's agents, all with the same permissions and depth.
 */
export async function insertDelegations(database, people, pairs, { permissions, maxDepth }) {
  const now = Date.now();
  const rows = pairs.map(([from_agent, to_agent]) => ({
    id: newId('delegation', now),
    from_agent,
    to_agent,
    from_owner: people.ownerId,
    to_owner: people.ownerId,
    permissions: JSON.stringify(permissions),
    depth: 1,
    max_depth: maxDepth,
    expires_at: null,
    ends_at: null,
    created_at: now,
    revoked_at: null,
    self_supplied: 1,
    policy_epoch: 1,
  }));
  await database.write.transaction().execute(async (db) => {
    for (let at = 0; at < rows.length; at += DELEGATIONS_AT_ONCE)
      await db
        .insertInto('delegations')
        .values(rows.slice(at, at + DELEGATIONS_AT_ONCE))
        .execute();
  });
}
