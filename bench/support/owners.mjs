// People with many agents and sessions, and an administrator, inserted through the service's own storage.
import { newId } from '../../dist/kernel/ids.js';
import { newSecret, secretHash } from '../../dist/kernel/secrets.js';
import { migrate, openDatabase } from '../../dist/storage/index.js';
import { agentRow, apiTokenRow, userRow } from './data.mjs';

const ROWS_AT_ONCE = 50;
const DAY_MS = 86_400_000;

/**
 * @typedef {{ id: string, agentTokens: string[], sessionTokens: string[] }} Owner the tokens of the first and the last
 * agent and session
 * @returns {Promise<{ adminToken: string, owners: Owner[] }>}
 */
export async function fillOwners(databaseUrl, { owners, agents, sessions }) {
  const database = await openDatabase(databaseUrl, { serviceName: 'legate' });
  await migrate(database);
  const now = Date.now();
  const admin = userRow('admin@example.com', 'admin', now);
  const adminToken = newSecret('apiToken');
  const people = [];
  await database.write.transaction().execute(async (db) => {
    const insert = async (table, rows) => {
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
        await db
          .insertInto(table)
          .values(rows.slice(at, at + ROWS_AT_ONCE))
          .execute();
    };
    await insert('users', [admin]);
    await insert('api_tokens', [apiTokenRow(admin.id, adminToken, now)]);
    for (let i = 0; i < owners; i++) {
      const owner = userRow(`owner-${i}@example.com`, 'user', now);
      const agentTokens = Array.from({ length: agents }, () => newSecret('agentToken'));
      const sessionTokens = Array.from({ length: sessions }, () => newSecret('sessionToken'));
      await insert('users', [owner]);
      await insert(
        'agents',
        agentTokens.map((token, n) => agentRow(owner.id, `Agent ${n}`, token, 10, now)),
      );
      await insert(
        'sessions',
        sessionTokens.map((token) => sessionRow(owner.id, token, now)),
      );
      const ends = (all) => [all[0], all.at(-1)];
      people.push({ id: owner.id, agentTokens: ends(agentTokens), sessionTokens: ends(sessionTokens) });
    }
  });
  await database.close();
  return { adminToken, owners: people };
}

const sessionRow = (userId, token, now) => ({
  id: newId('session', now),
  user_id: userId,
  token_hash: secretHash(token),
  created_at: now,
  last_used_at: now,
  expires_at: now + DAY_MS,
  absolute_expires_at: now + DAY_MS,
  auth_time: now,
  both_factors: 0,
  issuer: null,
  issuer_session_hash: null,
  ip: null,
  user_agent: null,
});
