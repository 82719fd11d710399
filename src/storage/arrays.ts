import type { Compilable } from 'kysely';
import type { Database } from './database.ts';

/**
 * Runs a query and returns its rows as arrays in column order, at half the cost of objects. For queries of many rows.
 * Uses the same connection as `database.read`.
 */
export async function selectArrays<Row extends readonly unknown[]>(
  database: Database,
  query: Compilable,
): Promise<Row[]> {
  const { sql, parameters } = query.compile();
  if (database.dialect === 'sqlite') return database.reader.prepare(sql).raw(parameters as never) as unknown as Row[];
  const { rows } = await database.pool.query({ text: sql, values: parameters as unknown[], rowMode: 'array' });
  return rows as unknown as Row[];
}
