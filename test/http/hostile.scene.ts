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
  /** The path of an existing object, without a query. */
  readonly path: string;
  /** The body in the row of the matrix. */
  readonly body: unknown;
}

export const { values: config } = readConfig({ code: {}, env: {}, production: false, readFile: () => '' });
/** A stream does not end, so src/activity/stream/stream.test.ts tests its invalid requests. */
const endsByItself = ({ route }: Mounted): boolean =>
  !Object.values(route.responses).some((a) => a && 'mediaTypes' in a && a.mediaTypes.includes('text/event-stream'));
export const endpoints = distinctRoutes(config)
  .filter(endsByItself)
  .map((m) => [`${m.route.method} ${m.path}`, m] as const);
/** Bodies whose only field is `reason` are handled by the same code, so two endpoints are enough. */
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
 * A body that cannot be parsed is refused before the database is used, so on PostgreSQL a sample of the endpoints is
 * enough.
 */
export const parsed = withBody.filter((_, i) => dialect === 'sqlite' || i % 8 === 0);
/** Queries whose only field is `reason` are tested together with the bodies. */
export const withQuery = endpoints.filter(
  ([, m]) =>
    m.route.query !== undefined &&
    !isReasonOnly(m.route.query) &&
    // SCIM ignores unknown attributes in lists, so src/people/scim/scim.test.ts tests invalid requests.
    m.route.mediaType === undefined,
);
const WHY = 'a ticket asked for it';
const takesReason = (schema: unknown): boolean => 'reason' in ((schema as { shape?: object }).shape ?? {});
/** The sample of an endpoint, with a reason if the endpoint accepts one. */
export const bodyOf = (endpoint: string, route: Mounted['route'], w: HostileWorld): unknown => {
  const sample = bodies[endpoint]?.(w);
  return takesReason(route.body) ? { ...(sample as object | undefined), reason: WHY } : sample;
};
export const queryOf = (endpoint: string, route: Mounted['route'], w: HostileWorld): Record<string, string> => ({
  ...(queries[endpoint]?.(w) as Record<string, string> | undefined),
  ...(takesReason(route.query) ? { reason: WHY } : {}),
});
/** As with bodies, a sample is enough on PostgreSQL. */
export const queried = withQuery.filter((_, i) => dialect === 'sqlite' || i % 4 === 0);
export const withId = endpoints.filter(([, m]) => m.path.includes(':id'));

type Sent = Parameters<TestService['call']>[2];
export const send = (w: HostileWorld, o: Sent = {}, path = w.path): Promise<Answered> =>
  w.t.call(w.method, path, { as: w.admin, ...o });
export const JSON_TYPE = { 'content-type': 'application/json' };

/** Tables that are derived from the ledger at any time, and not by requests. */
const DERIVED: readonly string[] = [
  'changes',
  'change_subjects',
  // A service writes its own row shortly after its start.
  'instances',
  'leases',
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

/** Returns everything that is stored. */
export async function stored({ t }: HostileWorld): Promise<unknown> {
  // The outcome of deliveries and the use of tokens are recorded at any time.
  const volatile = new Set(['failures', 'paused_until', 'last_used_at']);
  const plain = (key: string, v: unknown): unknown =>
    volatile.has(key) ? undefined : typeof v === 'bigint' ? String(v) : v;
  const all: Record<string, unknown> = {};
  for (const table of TABLE_NAMES.filter((name) => !DERIVED.includes(name))) {
    const rows = await t.legate.platform.database.read.selectFrom(table).selectAll().execute();
    // Databases guarantee no order.
    all[table] = rows.map((row) => JSON.stringify(row, plain)).sort();
  }
  return all;
}

const LEAK =
  /\bat .+:\d+:\d+|node_modules|\/src\/|\/dist\/|\.ts:|SQLITE|sqlite|postgres|SELECT |INSERT |syntax error|constraint failed|ZodError|TypeError|RangeError/;

/**
 * Expects a refusal that is not a fault of the service and contains no internal details. All tests check the shape of
 * each response.
 */
export function expectRefused(what: string, r: Answered, statuses: readonly number[], names?: string): void {
  expect.soft(statuses, `${what}: ${r.status} ${r.text.slice(0, 300)}`).toContain(r.status);
  // All tests compare the format of SCIM in responses with the declaration of the route.
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

/** Services for the tests of one file, with objects for each endpoint. */
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
   * Each test compares everything that is stored, which is slow in a service that contains the objects of hundreds of
   * tests.
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

  /**
   * Creates objects for the endpoints, and an admin with all rights, so that only the format can be the cause of a
   * refusal.
   */
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

  /** Runs requests that must be refused, and checks that they change nothing that is stored. */
  async function refused(endpoint: string, work: (w: HostileWorld) => Promise<void>): Promise<void> {
    const w = await world(endpoint);
    const before = await stored(w);
    await work(w);
    expect(await stored(w)).toEqual(before);
    expect(Object.prototype).not.toHaveProperty('polluted');
  }

  return { shared, world, refused };
}
