import { beforeAll, describe, expect, it } from 'vitest';
import { modules } from '../../src/modules.ts';
import { TABLE_NAMES } from '../../src/storage/tables.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../support/service.ts';
import { matrix } from './matrix.cases.ts';
import { newScene, session } from './matrix.scene.ts';

/** Tables that are derived from the ledger in the background. */
const DERIVED: readonly string[] = [
  'event_segments',
  'event_columns',
  'agent_hours',
  'projections',
  'anomalies',
  'anomaly_states',
];

const endpoints = modules
  .flatMap(({ routes }) => routes ?? [])
  .filter(({ preview }) => preview)
  .map(({ method, path }) => `${method} ${path}`);

let t: TestService;
let admin: TestUser;

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
});

async function dump(): Promise<Record<string, string[]>> {
  const rows: Record<string, string[]> = {};
  for (const name of TABLE_NAMES.filter((name) => name !== 'instances' && name !== 'leases' && !DERIVED.includes(name)))
    rows[name] = (await t.legate.platform.database.read.selectFrom(name).selectAll().execute())
      .map((row) => JSON.stringify(row))
      .sort();
  return rows;
}

const eventsOf = async (): Promise<Json[]> => (await t.call('GET', '/events?limit=1000', { as: admin })).body;

/** An event without ids and times, which a preview cannot predict. */
const comparable = (event: Json): Json =>
  JSON.parse(
    JSON.stringify({ ...event, id: undefined, timestamp: undefined }, (name, value) =>
      name === 'updatedAt' ? undefined : value,
    ),
  );

describe('every endpoint with a preview', () => {
  it('revokes, ends, deletes or narrows something', () => {
    expect(endpoints.length).toBe(16);
    expect(endpoints.filter((endpoint) => !/^(DELETE|PATCH) |\/(erasures|revoke)$/.test(endpoint))).toEqual([]);
  });

  it.each(endpoints)('%s: changes nothing, and shows the events of the change', async (endpoint) => {
    const row = matrix[endpoint];
    if (!row) throw new Error(`${endpoint} has no row in the matrix`);
    const scene = await newScene(t);
    if (endpoint.endsWith('/sessions')) await session(scene);
    const { path, body } = await row.target(scene);
    const as = (row.want.owner ?? 403) < 300 ? scene.owner : admin;
    const [method] = endpoint.split(' ') as [string];
    const [before, known] = [await dump(), (await eventsOf()).length];
    const send = (address: string) => t.call(method, address, { as, ...(body === undefined ? {} : { body }) });
    const shown = await send(`${path}?preview=true`);
    expect([shown.status, shown.body.preview]).toEqual([200, true]);
    expect(await dump()).toEqual(before);
    const done = await send(path);
    expect(done.status).toBeLessThan(300);
    const all = await eventsOf();
    const emitted = all
      .slice(0, all.length - known)
      .reverse()
      .filter((event) => as === admin || event.userId === scene.owner.id);
    expect(shown.body.events.map(comparable)).toEqual(emitted.map(comparable));
    expect(emitted.length).toBeGreaterThan(0);
  });
});
