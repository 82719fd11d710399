import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { TestPlace } from './database.ts';

/** A connection that acts next to a service, for example to hold a lock. It ends with the test. */
export async function clientOf({ url }: Pick<TestPlace, 'url'>): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
