import type { Compilable } from 'kysely';
import type { Database } from './database.ts';

/** The rows of a query as arrays, in the order of its columns: half the cost of objects, for queries of many rows. Reads as `database.read` does. */
export async function selectArrays<Row extends readonly unknown[]>(
  database: Database,
  query: Compilable,
): Promise<Row[]> {
  const { sql, parameters } = query.compile();
  if (database.dialect === 'sqlite') return database.reader.prepare(sql).raw(parameters as never) as unknown as Row[];
  const { rows } = await database.pool.query({ text: sql, values: parameters as unknown[], rowMode: 'array' });
  return rows as unknown as Row[];
}
