import { PRUNING } from '../../ledger/index.ts';
import { type Database, TABLE_NAMES } from '../../storage/index.ts';
import type { Manifest } from './manifest.ts';
import type { Snapshot } from './snapshot.ts';

/** Every table except those that instances fill when they start. */
export const SAVED_TABLES: readonly string[] = TABLE_NAMES.filter((name) => name !== 'instances' && name !== 'leases');

/** The columns of each table of this installation, by name without prefix. */
export async function columnsOf(database: Database): Promise<Map<string, string[]>> {
  const tables = await database.read.introspection.getTables();
  return new Map(
    tables
      .filter(({ name }) => name.startsWith(database.prefix))
      .map(({ name, columns }) => [name.slice(database.prefix.length), columns.map((column) => column.name)]),
  );
}

/** The projections that hold the sequence up to which events were deleted, and all rows. */
const RETENTION: readonly unknown[] = ['events/retention', PRUNING];

export async function ledgerEnd(
  snapshot: Snapshot,
  columns: ReadonlyMap<string, readonly string[]>,
): Promise<Manifest['ledger']> {
  const values = async (table: string, wanted: readonly string[]): Promise<unknown[][]> => {
    const all: unknown[][] = [];
    if (columns.has(table)) for await (const chunk of snapshot.rows(table, wanted)) all.push(...chunk);
    return all;
  };
  const [head] = await values('head', ['seq']);
  const projections = await values('projections', ['name', 'upto']);
  const positions = projections.flatMap(([name, upto]) => (RETENTION.includes(name) ? [Number(upto)] : []));
  return { seq: Number(head?.[0] ?? 0), keptWholeAfter: Math.max(0, ...positions) };
}
