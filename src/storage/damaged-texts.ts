import { isUtf8 } from 'node:buffer';
import { type Expression, type SelectQueryBuilder, sql } from 'kysely';
import type { Database, Db } from './database.ts';
import type { Tables } from './tables.ts';

/**
 * Returns undefined if the driver returns the texts of a query as they are stored; otherwise the rows, which it would
 * not. On Node 20, libsql ends the process at a text that is not UTF-8 and cuts a text off at U+0000. Somebody who can
 * write to the database file can store such texts in any column. Bytes that are not UTF-8 are returned as U+FFFD.
 */
export async function selectIfDamaged<Row>(
  database: Database,
  db: Db,
  query: SelectQueryBuilder<Tables, never, unknown>,
  columns: readonly string[],
): Promise<Row[] | undefined> {
  if (database.dialect === 'postgres' || database.reader.driver === 'node:sqlite') return undefined;
  const textOf = (column: string) => sql`case typeof(${sql.ref(column)}) when 'text' then ${sql.ref(column)} end`;
  // One query for all texts costs less than a condition on each of them.
  const { rows } = await sql<{ texts: Uint8Array | null }>`
    select cast(group_concat(concat_ws(',', ${sql.join(columns.map(textOf))})) as blob) as texts
    from ${query}`.execute(db);
  const texts = new Uint8Array(rows[0]?.texts ?? []);
  if (isUtf8(texts) && !texts.includes(0)) return undefined;
  const bytesOf = (column: string): Expression<unknown> =>
    sql`case typeof(${sql.ref(column)}) when 'text' then cast(${sql.ref(column)} as blob) else ${sql.ref(column)} end`;
  const stored = await sql<Record<string, unknown>>`
    select ${sql.join(columns.map((column) => sql`${bytesOf(column)} as ${sql.ref(column)}`))}
    from ${query}`.execute(db);
  for (const row of stored.rows)
    for (const column of columns)
      if (typeof row[column] === 'object' && row[column] !== null)
        row[column] = Buffer.from(row[column] as Uint8Array).toString();
  return stored.rows as Row[];
}
