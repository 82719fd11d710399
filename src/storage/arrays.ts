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

/**
 * Like {@link selectArrays} for columns of text, in any order. SQLite returns them as one JSON text, at a third of the
 * cost of reading row by row.
 */
export async function selectTexts<Row extends readonly unknown[]>(
  database: Database,
  query: Compilable,
  columns: readonly string[],
): Promise<Row[]> {
  if (database.dialect !== 'sqlite') return selectArrays<Row>(database, query);
  const { sql, parameters } = query.compile();
  const names = columns.map((name) => `"${name}"`).join(', ');
  const all = database.reader.prepare(`select json_group_array(json_array(${names})) from (${sql})`);
  const [row] = all.raw(parameters as never) as unknown as [[string]];
  return JSON.parse(row[0]) as Row[];
}
