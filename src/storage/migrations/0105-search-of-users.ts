import { type Kysely, sql } from 'kysely';
import { searchKey } from '../../kernel/search-words.ts';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

const ROWS_AT_ONCE = 500;

interface User {
  readonly id: string;
  readonly email: string | null;
  readonly name: string | null;
}

/** The words of name and address, by which users are found. */
export const searchOfUsers = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  const users = sql.raw(`${p}users`);
  const after = async (db: Kysely<unknown>, id: string): Promise<readonly User[]> => {
    const { rows } = await sql<User>`
      select id, email, name from ${users} where id > ${id} order by id limit ${ROWS_AT_ONCE}`.execute(db);
    return rows;
  };
  return {
    up: async (db) => {
      await runStatements(db, context.dialect, [
        `alter table ${p}users add column search_key text not null default ''`,
      ]);
      for (let rows = await after(db, ''); rows.length > 0; rows = await after(db, rows.at(-1)?.id ?? ''))
        for (const { id, email, name } of rows)
          await sql`
            update ${users} set search_key = ${searchKey(`${name ?? ''} ${email ?? ''}`)} where id = ${id}`.execute(db);
    },
  };
};
