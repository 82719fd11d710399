import { type Kysely, sql } from 'kysely';
import type { MigrationContext } from './migration.ts';

export function epochs({ dialect, prefix }: MigrationContext) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('epochs')
        .addColumn('epoch', dialect === 'sqlite' ? 'integer' : 'bigint', (c) => c.primaryKey())
        .execute();
      await sql`insert into ${sql.table(`${prefix}epochs`)} (epoch) select epoch from ${sql.table(`${prefix}head`)}`.execute(
        db,
      );
    },
  };
}
