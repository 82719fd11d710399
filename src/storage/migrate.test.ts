import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { dialect, newTestDatabase } from '../../test/support/service.ts';
import {
  DatabaseError,
  type IdempotencyKeyRow,
  isSchemaCurrent,
  migrate,
  migrateAsFarAs,
  openDatabase,
  schemaState,
} from './index.ts';
import { REPLACED_MIGRATIONS } from './migrations/replaced.ts';
import { TABLE_NAMES } from './tables.ts';

const BASELINE = '0097-baseline';

const open = async () => {
  const { url, name } = await newTestDatabase();
  return openDatabase(url, { serviceName: name });
};

if (dialect === 'postgres')
  it('instances that start at the same time on an empty database migrate it once', async () => {
    const { url, name } = await newTestDatabase();
    const instances = await Promise.all([1, 2, 3, 4].map(() => openDatabase(url, { serviceName: name })));
    const states = await Promise.all(instances.map(migrate));
    expect(states.map(({ applied, known, pending }) => [applied - known, pending])).toEqual(states.map(() => [0, []]));
    await Promise.all(instances.map((instance) => instance.close()));
  });

it('a migration that fails changes nothing, and its database can be migrated later', async () => {
  const database = await open();
  const inTheWay = sql.table(`${database.prefix}anomaly_states`);
  await sql`create table ${inTheWay} (id integer)`.execute(database.write);
  await expect(migrate(database)).rejects.toThrow('already exists');
  expect(await schemaState(database)).toMatchObject({ applied: 0, refusal: undefined });
  await sql`drop table ${inTheWay}`.execute(database.write);
  expect(await migrate(database)).toMatchObject({ pending: [] });
  for (const table of TABLE_NAMES) await database.read.selectFrom(table).selectAll().execute();
  expect(await database.read.selectFrom('head').selectAll().execute()).toEqual([
    { id: 1, seq: 0, epoch: 1, clock: 0, writer: '' },
  ]);
  await database.close();
});

it('a database from before the first release is refused and not changed; the error names the solution', async () => {
  const database = await open();
  // The schema of the migrations before the baseline.
  const { prefix, write } = database;
  for (const statement of [
    `create table "${prefix}migrations" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null)`,
    `create table "${prefix}migrations_lock" ("id" varchar(255) not null primary key, "is_locked" integer not null)`,
    `create table "${prefix}head" ("id" bigint primary key, "seq" bigint not null)`,
    `insert into "${prefix}migrations" values ('0001-foundation', '2026-01-01'), ('0025-actors', '2026-01-01')`,
  ])
    await sql.raw(statement).execute(write);
  const refused = await migrate(database).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(DatabaseError);
  expect((refused as Error).message).toBe(
    `${database.description} was created by a version of Legate before 0.1.0, and its tables cannot be upgraded. ` +
      'Export the audit log with that version (GET /audit/export), then start this one with a new data folder ' +
      '(dataDir) or database.',
  );
  expect(await sql.raw(`select seq from "${prefix}head"`).execute(write)).toMatchObject({ rows: [] });
  expect((await schemaState(database)).refusal).toBe((refused as Error).message);
  await database.close();
});

/** A database with the schema of these migrations, which the baseline replaced. */
const madeBy = async (names: readonly string[]) => {
  const database = await open();
  await migrateAsFarAs(database, [BASELINE]);
  const table = `${database.prefix}migrations`;
  await sql.raw(`delete from ${table}`).execute(database.write);
  const rows = names.map((name) => `('${name}', '2026-01-01')`).join();
  await sql.raw(`insert into ${table} (name, timestamp) values ${rows}`).execute(database.write);
  return database;
};

it('a database at the last migration that the baseline replaced is used without changes', async () => {
  const database = await madeBy(REPLACED_MIGRATIONS);
  await database.write.updateTable('head').set({ seq: 7 }).execute();
  const kept = { scope: 's', part: -1, fingerprint: 'f', kind: 'answer', answer: '{}', created_at: 1, expires_at: 2 };
  await database.write
    .insertInto('idempotency_keys')
    .values(kept as IdempotencyKeyRow)
    .execute();
  const fresh = await open();
  const expected = await migrate(fresh);
  expect(await schemaState(database)).toEqual({
    ...expected,
    applied: 1,
    migrations: [BASELINE],
    pending: expected.migrations.filter((name) => name !== BASELINE),
  });
  expect(await migrate(database)).toEqual(expected);
  expect(await isSchemaCurrent(database)).toBe(true);
  expect(await database.read.selectFrom('head').select('seq').execute()).toEqual([{ seq: 7 }]);
  expect(await database.read.selectFrom('idempotency_keys').selectAll().execute()).toEqual([kept]);
  await Promise.all([database.close(), fresh.close()]);
});

it('users from before can be found by the words of their name and address', async () => {
  const [database, fresh] = [await open(), await open()];
  const { migrations } = await migrate(fresh);
  await migrateAsFarAs(
    database,
    migrations.filter((name) => name < '0105'),
  );
  const p = database.prefix;
  await sql
    .raw(
      `insert into ${p}users
         (id, email, email_key, name, role, email_verified, two_factor_enabled, created_at, updated_at)
       values ('usr_1', 'Ada@Example.com', 'ada@example.com', 'José', 'user', 0, 0, 1, 1),
              ('usr_2', null, null, null, 'user', 0, 0, 1, 1)`,
    )
    .execute(database.write);
  await migrate(database);
  const users = await database.read.selectFrom('users').select(['id', 'search_key']).orderBy('id').execute();
  expect(users).toEqual([
    { id: 'usr_1', search_key: ' jose ada example com' },
    { id: 'usr_2', search_key: ' ' },
  ]);
  await Promise.all([database.close(), fresh.close()]);
});

it('a database that lacks one of the replaced migrations is refused, and the error names the solution', async () => {
  for (const missing of [REPLACED_MIGRATIONS.length - 1, 3]) {
    const database = await madeBy(REPLACED_MIGRATIONS.filter((_, i) => i !== missing));
    await expect(migrate(database)).rejects.toThrow('Export the audit log with that version');
    expect(await isSchemaCurrent(database)).toBe(false);
    await database.close();
  }
});

it('a backup that names the replaced migrations is restored into the baseline; an earlier one is not', async () => {
  const database = await open();
  expect(await migrateAsFarAs(database, REPLACED_MIGRATIONS.slice(0, -1))).toBe(false);
  expect(await migrateAsFarAs(database, REPLACED_MIGRATIONS)).toBe(true);
  expect(await schemaState(database)).toMatchObject({ applied: 1, refusal: undefined, migrations: [BASELINE] });
  expect(await migrate(database)).toMatchObject({ pending: [] });
  await database.close();
});
