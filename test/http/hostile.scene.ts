import { expect } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { TABLE_NAMES } from '../../src/storage/tables.ts';
import { distinctRoutes, type Mounted } from '../support/endpoints.ts';
import {
  type Answered,
  afterEachFile,
  createTestService,
  dialect,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import { bodies, queries } from './hostile.cases.ts';
import { matrix } from './matrix.cases.ts';
import { newScene, type Scene } from './matrix.scene.ts';

export interface HostileWorld extends Scene {
  readonly admin: TestUser;
  readonly method: string;
  /** Address of something that is there, without a query. */
  readonly path: string;
  /** Body of the row of the matrix. */
  readonly body: unknown;
}

export const { values: config } = readConfig({ code: {}, env: {}, production: false, readFile: () => '' });
/** A stream does not end, so src/activity/stream/stream.test.ts tests its invalid requests. */
const endsByItself = ({ route }: Mounted): boolean =>
  !Object.values(route.responses).some((a) => a && 'mediaTypes' in a && a.mediaTypes.includes('text/event-stream'));
export const endpoints = distinctRoutes(config)
  .filter(endsByItself)
  .map((m) => [`${m.route.method} ${m.path}`, m] as const);
/** A body that has no field but `reason` is the same everywhere: two endpoints are enough. */
export const isReasonOnly = (schema: unknown): boolean =>
  Object.keys((schema as { shape?: object } | undefined)?.shape ?? {}).join() === 'reason';
const sameBody = new Set(
  endpoints
    .filter(([, m]) => isReasonOnly(m.route.body))
    .map(([endpoint]) => endpoint)
    .slice(2),
);
export const withBody = endpoints.filter(
  ([endpoint, m]) =>
    m.route.body !== undefined &&
    !sameBody.has(endpoint) &&
    m.route.form !== 'only' &&
    m.route.errorBody === undefined &&
    m.route.wrongMediaType === undefined,
);
/**
 * A body that does not parse is refused before the database is asked: on PostgreSQL a sample of the endpoints is
 * enough.
 */
export const parsed = withBody.filter((_, i) => dialect === 'sqlite' || i % 8 === 0);
/** A query that has no field but `reason` is tested where the reason is. */
export const withQuery = endpoints.filter(
  ([, m]) =>
    m.route.query !== undefined &&
    !isReasonOnly(m.route.query) &&
    // SCIM ignores unknown attributes in lists, so src/people/scim/scim.test.ts tests invalid requests.
    m.route.mediaType === undefined,
);
const WHY = 'a ticket asked for it';
const takesReason = (schema: unknown): boolean => 'reason' in ((schema as { shape?: object }).shape ?? {});
/** The sample of an endpoint, with a reason where it takes one. */
export const bodyOf = (endpoint: string, route: Mounted['route'], w: HostileWorld): unknown => {
  const sample = bodies[endpoint]?.(w);
  return takesReason(route.body) ? { ...(sample as object | undefined), reason: WHY } : sample;
};
export const queryOf = (endpoint: string, route: Mounted['route'], w: HostileWorld): Record<string, string> => ({
  ...(queries[endpoint]?.(w) as Record<string, string> | undefined),
  ...(takesReason(route.query) ? { reason: WHY } : {}),
});
/** As for bodies. */
export const queried = withQuery.filter((_, i) => dialect === 'sqlite' || i % 4 === 0);
export const withId = endpoints.filter(([, m]) => m.path.includes(':id'));

type Sent = Parameters<TestService['call']>[2];
export const send = (w: HostileWorld, o: Sent = {}, path = w.path): Promise<Answered> =>
  w.t.call(w.method, path, { as: w.admin, ...o });
export const JSON_TYPE = { 'content-type': 'application/json' };

/** Made from the ledger, now or a little later, and not by requests. */
const DERIVED: readonly string[] = [
  // A service notes itself a little after its start.
  'instances',
  'anomaly_states',
  'webhook_deliveries',
  'projections',
  'agent_hours',
  'event_segments',
  'event_columns',
  'agent_activity',
  'decision_slots',
  'webhook_attempts',
  'seal',
  'seal_tiles',
  'seal_checkpoints',
];

/** Everything that is stored. */
export async function stored({ t }: HostileWorld): Promise<unknown> {
  // The outcome of deliveries is recorded at any time.
  const plain = (key: string, v: unknown): unknown =>
    key === 'failures' || key === 'paused_until' ? undefined : typeof v === 'bigint' ? String(v) : v;
  const all: Record<string, unknown> = {};
  for (const table of TABLE_NAMES.filter((name) => !DERIVED.includes(name))) {
    const rows = await t.legate.platform.database.read.selectFrom(table).selectAll().execute();
    // No database promises an order.
    all[table] = rows.map((row) => JSON.stringify(row, plain)).sort();
  }
  return all;
}

const LEAK =
  /\bat .+:\d+:\d+|node_modules|\/src\/|\/dist\/|\.ts:|SQLITE|sqlite|postgres|SELECT |INSERT |syntax error|constraint failed|ZodError|TypeError|RangeError/;

/**
 * Expects a refusal that is not a fault of the service and says nothing about its inside. The shape of each answer is
 * checked in all tests.
 */
export function expectRefused(what: string, r: Answered, statuses: readonly number[], names?: string): void {
  expect.soft(statuses, `${what}: ${r.status} ${r.text.slice(0, 300)}`).toContain(r.status);
  // Which routes answer in the form of SCIM is compared with their declaration for every answer of every test.
  const scim = r.headers.get('content-type') === 'application/scim+json';
  if (!scim) expect.soft(r.headers.get('content-type'), what).toBe('application/json; charset=utf-8');
  const message = scim ? r.body.detail : (r.body.error.message ?? r.body.error_description);
  expect.soft(message, what).toBeTypeOf('string');
  expect.soft(message, what).not.toMatch(LEAK);
  if (names !== undefined && r.status === 400) {
    const paths = r.body.error.details?.issues?.map((i: { path: string }) => i.path) ?? [];
    expect.soft(paths, `${what} names its field: ${r.text.slice(0, 300)}`).toContain(names);
  }
}

/** Services for the tests of one file, and things for an endpoint to work on. */
export function hostileScene() {
  let service: Promise<TestService> | undefined;
  const shared = (): Promise<TestService> =>
    (service ??= createTestService({
      lasting: true,
      config: {
        webhooks: { allowPrivateNetworks: true },
        ledger: { seal: 'on' },
        gateway: { servers: { pinned: { command: '/nowhere/x' } } },
      },
    }));

  /**
   * Each test compares everything that is stored: a service with the things of hundreds of tests would make that slow.
   */
  const WORLDS_PER_SERVICE = 20;
  let worlds = 0;
  async function serviceWithRoom(): Promise<TestService> {
    if (worlds++ % WORLDS_PER_SERVICE === 0) {
      service = undefined;
      await afterEachFile();
    }
    return shared();
  }

  /** Objects for the endpoints, and an admin with all rights, so that refusals are due to the format only. */
  async function world(endpoint: string): Promise<HostileWorld> {
    const t = await serviceWithRoom();
    const s = await newScene(t);
    const row = matrix[endpoint];
    if (!row) throw new Error(`The matrix has no row for ${endpoint}.`);
    const { path, body } = await row.target(s);
    return {
      ...s,
      body,
      admin: await t.admin(),
      method: endpoint.split(' ')[0] as string,
      path: path.split('?')[0] as string,
    };
  }

  /** Runs what must be refused, and looks whether anything is stored differently for it. */
  async function refused(endpoint: string, work: (w: HostileWorld) => Promise<void>): Promise<void> {
    const w = await world(endpoint);
    const before = await stored(w);
    await work(w);
    expect(await stored(w)).toEqual(before);
    expect(Object.prototype).not.toHaveProperty('polluted');
  }

  return { shared, world, refused };
}
