import { type Kysely, sql } from 'kysely';
import { searchKey } from '../../kernel/search-words.ts';
import type { MigrationContext } from './migration.ts';

const ROWS_AT_ONCE = 500;

interface Entry {
  readonly resource: string;
  readonly actions: readonly string[];
  readonly constraints?: object;
}

/** What lists of agents show and sort by (contract 17.7), and when each agent was last decided on. */
export function agentSummaries({ dialect, prefix }: MigrationContext) {
  const int = dialect === 'sqlite' ? 'integer' : 'bigint';
  // PostgreSQL: bytes in order, whatever the collation of the database.
  const key = dialect === 'sqlite' ? sql`text` : sql`text collate "C"`;
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const s = db.schema;
      await s
        .alterTable('agents')
        .addColumn('name_key', key, (c) => c.notNull().defaultTo(''))
        .execute();
      await s
        .alterTable('agents')
        .addColumn('permission_count', int, (c) => c.notNull().defaultTo(0))
        .execute();
      await s
        .alterTable('agents')
        .addColumn('unbounded', int, (c) => c.notNull().defaultTo(0))
        .execute();
      await fillIn(db);
      await s.createIndex(`${prefix}agents_names`).on('agents').columns(['name_key', 'id']).execute();
      await s.createIndex(`${prefix}agents_owner_names`).on('agents').columns(['owner_id', 'name_key', 'id']).execute();
      await s
        .createTable('agent_activity')
        .addColumn('agent_id', 'text', (c) => c.primaryKey())
        .addColumn('last_at', int, (c) => c.notNull())
        .addColumn('hours', 'text', (c) => c.notNull())
        .execute();
    },
  };
}

async function fillIn(db: Kysely<unknown>): Promise<void> {
  const agents = sql.table('agents');
  for (let after = ''; ; ) {
    const { rows } = await sql<{ id: string; name: string; permissions: string }>`
      select id, name, permissions from ${agents} where id > ${after} order by id limit ${ROWS_AT_ONCE}`.execute(db);
    for (const { id, name, permissions } of rows) {
      const entries = JSON.parse(permissions) as Entry[];
      const unbounded = entries.some(
        ({ resource, actions, constraints }) =>
          Object.keys(constraints ?? {}).length === 0 && (resource === '*' || actions.includes('*')),
      );
      await sql`update ${agents} set name_key = ${searchKey(name)}, permission_count = ${entries.length},
        unbounded = ${unbounded ? 1 : 0} where id = ${id}`.execute(db);
    }
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
  }
}
