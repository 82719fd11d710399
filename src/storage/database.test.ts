import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { newTestDatabase } from '../../test/support/service.ts';
import { isUnavailable, openDatabase } from './index.ts';

it.each(['read', 'write'] as const)(
  'a database used only to %s has no open connection after it is closed',
  async (only) => {
    const { url, name } = await newTestDatabase();
    const database = await openDatabase(url, { serviceName: name });
    await sql`select 1`.execute(database[only]);
    await database.close();
    await database.close();
    if (database.dialect === 'postgres') expect(database.pool.totalCount).toBe(0);
    for (const kind of ['read', 'write'] as const) {
      const error: unknown = await sql`select 1`.execute(database[kind]).catch((thrown: unknown) => thrown);
      expect([error instanceof Error, isUnavailable(error)], kind).toEqual([true, true]);
    }
  },
);
