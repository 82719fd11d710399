import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

/**
 * Consent forms are answered once. Agents created by a consent are recorded, apart from those that a person chose for a
 * client.
 */
export function consentForms({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const int = dialect === 'sqlite' ? 'integer' : 'bigint';
      await db.schema
        .createTable('oauth_consent_answers')
        .addColumn('token_hash', 'text', (c) => c.primaryKey())
        .addColumn('answer', 'text')
        .addColumn('code_hash', 'text')
        .addColumn('answer_expires_at', int, (c) => c.notNull())
        .addColumn('expires_at', int, (c) => c.notNull())
        .execute();
      await db.schema
        .createIndex(`${prefix}oauth_consent_answers_expires`)
        .on('oauth_consent_answers')
        .column('expires_at')
        .execute();
      await db.schema
        .createTable('oauth_client_agents')
        .addColumn('agent_id', 'text', (c) => c.primaryKey())
        .addColumn('client_id', 'text', (c) => c.notNull())
        .execute();
      await db.schema
        .createIndex(`${prefix}oauth_client_agents_client`)
        .on('oauth_client_agents')
        .column('client_id')
        .execute();
      await takeOver(db as Kysely<Rows>);
    },
  };
}

interface Rows {
  agents: { id: string; type: string; metadata: string };
  oauth_client_agents: { agent_id: string; client_id: string };
}
const SLICE = 500;

/** Until now, the metadata of an agent named the client whose consent created it. */
async function takeOver(db: Kysely<Rows>): Promise<void> {
  for (let after = ''; ; ) {
    const agents = await db
      .selectFrom('agents')
      .select(['id', 'metadata'])
      .where('id', '>', after)
      .where('type', '=', 'delegated')
      .where('metadata', 'like', '%"oauthClientId"%')
      .orderBy('id')
      .limit(SLICE)
      .execute();
    const rows = agents.flatMap(({ id, metadata }) => {
      const client = (JSON.parse(metadata) as Record<string, unknown>)['oauthClientId'];
      return typeof client === 'string' ? [{ agent_id: id, client_id: client }] : [];
    });
    if (rows.length > 0) await db.insertInto('oauth_client_agents').values(rows).execute();
    if (agents.length < SLICE) return;
    after = agents.at(-1)?.id ?? '';
  }
}
