import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createTestService } from '../support/service.ts';

/** The SQL of a document, for an installation whose `service.name` is another one than `legate`. */
function sqlOf(document: string, name: string): string {
  const text = readFileSync(join(resolve(import.meta.dirname, '../../docs'), document), 'utf8');
  return (/^ *```sql\n(.*?)^ *```$/ms.exec(text)?.[1] ?? '').replaceAll('legate', name);
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

it('docs/scale.md: the size of the ledger', async () => {
  const { url, name } = (await createTestService()).database;
  const { rows } = await (await connect(url)).query(sqlOf('scale.md', name));
  expect(rows).toEqual([{ pg_size_pretty: expect.stringMatching(/^\d+ (bytes|kB|MB)$/) }]);
});

it('docs/guides/several-instances.md: a second role has its own password, and acts as the first', async () => {
  const { url, name } = (await createTestService()).database;
  const admin = await connect(url);
  const first = `docs_${name}`;
  await admin.query(`create role ${pg.escapeIdentifier(first)} login`);
  onTestFinished(() => admin.query(`drop role if exists ${first}_b; drop role ${first}`).then(() => {}));
  await admin.query(sqlOf('guides/several-instances.md', first));
  const second = new URL(url);
  second.username = `${first}_b`;
  second.password = '...';
  const { rows } = await (await connect(second.href)).query('select session_user, current_user');
  expect(rows).toEqual([{ session_user: `${first}_b`, current_user: first }]);
});
