import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createTestService, dialect, type TestService } from '../../test/support/service.ts';

/** Adds a trigger with which the database accepts new rows of the ledger without storing them. */
async function dropNewRows({ legate }: TestService): Promise<void> {
  const { write, prefix } = legate.platform.database;
  const table = sql.table(`${prefix}stream_events`);
  if (dialect === 'sqlite') {
    await sql`create trigger drop_rows before insert on ${table} begin select raise(ignore); end`.execute(write);
    return;
  }
  await sql`create function drop_row() returns trigger language plpgsql as 'begin return null; end'`.execute(write);
  await sql`create trigger drop_rows before insert on ${table} for each row execute function drop_row()`.execute(write);
}

/** Later tests get the same tables. */
async function keepNewRows({ legate }: TestService): Promise<void> {
  if (dialect === 'postgres') await sql`drop function drop_row cascade`.execute(legate.platform.database.write);
}

it('no decision is answered and no change is made if the database drops its row of the ledger', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  const head = () => t.legate.platform.database.read.selectFrom('head').select('seq').executeTakeFirstOrThrow();
  const before = await head();
  await dropNewRows(t);
  try {
    await expectNothing(t, { owner, agent });
  } finally {
    await keepNewRows(t);
  }
  expect(await head()).toEqual(before);
});

async function expectNothing(
  t: TestService,
  { owner, agent }: Record<'owner' | 'agent', { id: string; token: string }>,
) {
  const ask = () => t.authorize(agent, { action: 'read', resource: 'db:x' });
  for (const { status, body } of [await ask(), ...(await Promise.all(Array.from({ length: 20 }, ask)))])
    expect([status, body.error?.code]).toEqual([503, 'AUDIT_UNAVAILABLE']);
  expect((await t.call('DELETE', `/agents/${agent.id}`, { as: owner })).status).toBeGreaterThanOrEqual(500);
  expect((await t.call('GET', `/agents/${agent.id}`, { as: owner })).body.status).toBe('active');
}
