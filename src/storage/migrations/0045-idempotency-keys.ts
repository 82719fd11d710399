import { type Kysely, sql } from 'kysely';

/** Answers of requests with an `Idempotency-Key` (contract 17.11). */
export function idempotencyKeys({ dialect, prefix }: { dialect: 'sqlite' | 'postgres'; prefix: string }) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      const table = db.schema
        .createTable('idempotency_keys')
        .addColumn('scope', 'text', (c) => c.notNull())
        .addColumn('part', 'integer', (c) => c.notNull())
        .addColumn('fingerprint', 'text', (c) => c.notNull())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('answer', 'text')
        .addColumn('created_at', 'bigint', (c) => c.notNull())
        .addColumn('expires_at', 'bigint', (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}idempotency_keys_pk`, ['scope', 'part']);
      await (dialect === 'sqlite' ? table.modifyEnd(sql`without rowid`) : table).execute();
      await db.schema
        .createIndex(`${prefix}idempotency_keys_end`)
        .on('idempotency_keys')
        .column('expires_at')
        .execute();
    },
  };
}
