import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { Role } from '../../src/access/principal.ts';
import type { ConfigInput } from '../../src/config.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { asId, type Id, newId } from '../../src/kernel/ids.ts';
import { newSecret, secretHash } from '../../src/kernel/secrets.ts';
import { LIMITED_ENDPOINTS } from '../../src/platform/limited-endpoints.ts';
import type { Log } from '../../src/platform.ts';
import { createLegate, type Legate, type LegateOptions } from '../../src/service.ts';
import { newMigratedPlace, newPlace, type TestPlace } from './database.ts';
import { observed } from './observe.ts';

export { dialect } from './database.ts';

/** A clock that tests advance. Starts at a fixed time, ten minutes past an hour. */
export class FakeClock implements Clock {
  #now = Date.parse('2030-01-15T10:10:00.000Z');
  now(): number {
    return this.#now;
  }
  set(iso: string): void {
    this.#now = Date.parse(iso);
  }
  advance(ms: number): void {
    this.#now += ms;
  }
}

/** The JSON of a response. Tests read single fields and whole objects. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers without a type.
export type Json = any;

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
  readonly text: string;
}

export interface TestUser {
  readonly id: Id<'user'>;
  readonly email: string;
  /** An API token with all rights of the user. */
  readonly token: string;
}

export interface TestAgent {
  readonly id: Id<'agent'>;
  readonly token: string;
  readonly body: Json;
}

/**
 * The limits are high, because all requests of a test come from one address. `config.rateLimit: {}` sets the defaults.
 */
const unlimited: ConfigInput['rateLimit'] = {
  endpoints: Object.fromEntries(Object.keys(LIMITED_ENDPOINTS).map((name) => [name, { limit: 1_000_000 }])),
};

const open: (() => Promise<void>)[] = [];
const lasting: (() => Promise<void>)[] = [];
/** Responses in this test that deviate from the declarations of their routes. */
const undeclared: string[] = [];

/** Closes what a test opened, and fails it for undeclared responses. Called by test/support/cleanup.ts. */
export async function afterEachTest(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
  expect(undeclared.splice(0)).toEqual([]);
}

/** Closes what a test file kept open. Called by test/support/cleanup.ts. */
export async function afterEachFile(): Promise<void> {
  for (const close of lasting.splice(0).reverse()) await close();
}

/** The default log. Tests that read the log pass their own. */
const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The root secret of services in production. */
const TEST_SECRET = '5a'.repeat(32);

export interface TestOptions extends LegateOptions {
  config?: ConfigInput;
  clock?: FakeClock;
  /** Closes the service after the last test of the file, for files whose tests do not depend on each other's data. */
  lasting?: boolean;
  /** A database other than that of this run. */
  databaseUrl?: string;
  /** The content of secrets.json in the data folder. By default the service creates its own keys. */
  secrets?: unknown;
  /** The test service whose database this one shares, as a second instance. */
  sameDatabaseAs?: TestService;
  /**
   * No interval of the service ever elapses: it does upkeep, and reads commits of other instances, only when the test
   * asks it to. On a busy machine the first intervals would elapse during a test.
   */
  withoutIntervals?: boolean;
}

/**
 * Creates an assembled service with its own database (a real SQLite file, or separate tables in a real PostgreSQL) and
 * a fake clock. It is closed automatically after the test. A test fails if any response deviates from the declaration
 * of its route.
 *
 *     const t = await createTestService();
 *     const alice = await t.user();
 *     const agent = await t.agent(alice, { permissions: [...] });
 *     const r = await t.call('POST', '/authorize', { as: alice, body: { agentId: agent.id, ... } });
 *     expect(r.status).toBe(200);
 */
export async function createTestService(options: TestOptions = {}): Promise<TestService> {
  const clock = options.clock ?? options.sameDatabaseAs?.clock ?? new FakeClock();
  const closers = options.lasting ? lasting : open;
  const { sameDatabaseAs, databaseUrl } = options;
  const place =
    sameDatabaseAs || databaseUrl
      ? { ...(await newPlace(closers, sameDatabaseAs?.database)), ...(databaseUrl && { url: databaseUrl }) }
      : await newMigratedPlace(closers);
  const { config, secrets, sameDatabaseAs: _, databaseUrl: __, lasting: ___, withoutIntervals, ...rest } = options;
  if (secrets !== undefined) writeFileSync(join(place.dir, 'secrets.json'), JSON.stringify(secrets), { mode: 0o600 });
  // By default the path contains the service name, which differs in each run on PostgreSQL. Tests use the usual path.
  const http = { basePath: '/api/legate', ...config?.http };
  if (withoutIntervals) vi.useFakeTimers({ toFake: ['setInterval'] });
  const creating = createLegate(
    {
      rateLimit: unlimited,
      ...(rest.production ? { baseUrl: 'http://localhost:3000', allowHttp: true, secret: TEST_SECRET } : {}),
      ...config,
      // The first row of a sealed ledger is ledger.begun, but most tests count only the rows that they create
      // themselves.
      ledger: { seal: 'off', ...config?.ledger },
      http,
      dataDir: place.dir,
      databaseUrl: place.url,
      service: { ...config?.service, name: place.name },
    },
    { env: {}, log: silent, ...rest, clock },
  );
  const bare = await creating.finally(() => withoutIntervals && vi.useRealTimers());
  const legate = { ...bare, fetch: observed(bare, (problem) => undeclared.push(problem)) };
  const service = new TestService(legate, clock, place);
  closers.push(() => legate.close());
  return service;
}

/** Creates storage without tables for one service. It is deleted after the test. */
export const newTestDatabase = (
  shared?: { url: string; name: string; dir?: string },
  closers = open,
): Promise<TestPlace> => newPlace(closers, shared);

export class TestService {
  readonly legate: Legate;
  readonly clock: FakeClock;
  /** Instances of one installation share the folder and its keys. */
  readonly database: TestPlace;
  #count = 0;

  constructor(legate: Legate, clock: FakeClock, database: TestPlace) {
    this.legate = legate;
    this.clock = clock;
    this.database = database;
  }

  /** Sends one request: `as` as Bearer token, `body` as JSON, `raw` and `headers` for anything else. */
  async call(
    method: string,
    path: string,
    o: {
      as?: { token: string } | string | undefined;
      body?: unknown;
      raw?: string | Uint8Array;
      headers?: Record<string, string>;
      ip?: string;
    } = {},
  ): Promise<Answered> {
    const headers = new Headers(o.headers);
    const token = typeof o.as === 'string' ? o.as : o.as?.token;
    if (token !== undefined && !headers.has('authorization')) headers.set('authorization', `Bearer ${token}`);
    const body = o.raw ?? (o.body === undefined ? undefined : JSON.stringify(o.body));
    if (o.body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
    const response = await this.legate.fetch(
      new Request(`http://localhost:3000${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: body as BodyInit }),
      }),
      {
        remoteAddress: o.ip ?? '192.0.2.1',
      },
    );
    const text = await response.text();
    let json: Json;
    try {
      json = text === '' ? undefined : JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: response.status, headers: response.headers, body: json, text };
  }

  /** Inserts a user with an API token into the database. */
  async user(o: { role?: Role; tenantId?: string | null; scopes?: string[] } = {}): Promise<TestUser> {
    const now = this.clock.now();
    const id = newId('user', now);
    const email = `user${++this.#count}-${id.slice(-6)}@example.com`;
    const db = this.legate.platform.database.write;
    await db
      .insertInto('users')
      .values({
        id,
        email,
        email_key: email,
        name: `User ${this.#count}`,
        role: o.role ?? 'user',
        password_hash: null,
        email_verified: 1,
        two_factor_enabled: 0,
        tenant_id: o.tenantId == null ? null : asId('tenant', o.tenantId),
        created_at: now,
        updated_at: now,
      })
      .execute();
    return { id, email, token: await this.apiToken(id, o.scopes) };
  }

  admin(): Promise<TestUser> {
    return this.user({ role: 'admin' });
  }

  /** Creates an API token of a user, optionally with scopes. */
  async apiToken(userId: Id<'user'>, scopes?: string[]): Promise<string> {
    const now = this.clock.now();
    const token = newSecret('apiToken');
    await this.legate.platform.database.write
      .insertInto('api_tokens')
      .values({
        id: newId('apiToken', now),
        user_id: userId,
        name: 'test',
        token_hash: secretHash(token),
        scopes: scopes ? JSON.stringify(scopes) : null,
        created_at: now,
        expires_at: null,
      })
      .execute();
    return token;
  }

  /** Inserts a tenant into the database. */
  async tenant(): Promise<string> {
    const now = this.clock.now();
    const id = newId('tenant', now);
    await this.legate.platform.database.write
      .insertInto('tenants')
      .values({ id, name: id, slug: id.replace('_', '-'), created_at: now })
      .execute();
    return id;
  }

  /** Creates an agent of `owner` over HTTP. */
  async agent(owner: TestUser, body: Record<string, unknown> = {}): Promise<TestAgent> {
    const r = await this.call('POST', '/agents', {
      as: owner,
      body: { ownerId: owner.id, name: 'agent', type: 'autonomous', ...body },
    });
    if (r.status !== 201) throw new Error(`POST /agents answered ${r.status}: ${r.text}`);
    return { id: r.body.id, token: r.body.token, body: r.body };
  }

  /** Requests a decision over HTTP. */
  authorize(as: { token: string } | string, body: Record<string, unknown>): Promise<Answered> {
    return this.call('POST', '/authorize', { as, body });
  }
}
