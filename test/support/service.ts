import { expect } from 'vitest';
import type { Role } from '../../src/access/principal.ts';
import type { ConfigInput } from '../../src/config.ts';
import { LIMITED_ENDPOINTS } from '../../src/http/rate-limit/rate-limit.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { newSecret, secretHash } from '../../src/kernel/secrets.ts';
import type { Log } from '../../src/platform.ts';
import { createLegate, type Legate, type LegateOptions } from '../../src/service.ts';
import { newMigratedPlace, newPlace, type TestPlace } from './database.ts';
import { observed } from './observe.ts';

export { dialect } from './database.ts';

/** A clock that tests turn. Starts at a fixed moment, ten minutes past an hour. */
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

/** JSON of an answer; tests look at single fields and whole shapes. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads what came over the wire.
export type Json = any;

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
  readonly text: string;
}

export interface TestUser {
  readonly id: string;
  readonly email: string;
  /** API token with the user's whole power. */
  readonly token: string;
}

export interface TestAgent {
  readonly id: string;
  readonly token: string;
  readonly body: Json;
}

/** All requests of a test come from one address: no limit is in their way unless `config.rateLimit` is given; `{}` gives the defaults. */
const unlimited: ConfigInput['rateLimit'] = {
  endpoints: Object.fromEntries(Object.keys(LIMITED_ENDPOINTS).map((name) => [name, { limit: 1_000_000 }])),
};

const open: (() => Promise<void>)[] = [];
const lasting: (() => Promise<void>)[] = [];
/** Answers of this test that are not as their routes declare. */
const undeclared: string[] = [];

/** Closes what a test opened, and fails it for answers that their routes do not declare. Called by test/support/cleanup.ts. */
export async function afterEachTest(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
  expect(undeclared.splice(0)).toEqual([]);
}

/** Closes what a file of tests kept open. Called by test/support/cleanup.ts. */
export async function afterEachFile(): Promise<void> {
  for (const close of lasting.splice(0).reverse()) await close();
}

/** Tests that look at the log pass their own. */
const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface TestOptions extends LegateOptions {
  config?: ConfigInput;
  clock?: FakeClock;
  /** Closed after the last test of the file, for suites whose tests leave each other's data alone. */
  lasting?: boolean;
  /** A database other than this run's. */
  databaseUrl?: string;
  /** Share the database of another test service: a second instance. */
  sameDatabaseAs?: TestService;
}

/**
 * An assembled service on a database of its own (a real SQLite file, or tables of their own in a real PostgreSQL), with a
 * fake clock. Closed after the test by itself. A test fails when any answer is not as its route declares.
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
  const { config, sameDatabaseAs: _, databaseUrl: __, lasting: ___, ...rest } = options;
  // Named after the service by default, which on PostgreSQL each run names anew: tests address it by its usual name.
  const http = { basePath: '/api/legate', ...config?.http };
  const bare = await createLegate(
    {
      rateLimit: unlimited,
      ...(rest.production ? { baseUrl: 'http://localhost:3000', allowHttp: true } : {}),
      ...config,
      http,
      dataDir: place.dir,
      databaseUrl: place.url,
      service: { name: place.name },
    },
    { env: {}, log: silent, ...rest, clock },
  );
  const legate = { ...bare, fetch: observed(bare, (problem) => undeclared.push(problem)) };
  const service = new TestService(legate, clock, place);
  closers.push(() => legate.close());
  return service;
}

/** A place without tables for one service's data. Deleted after the test. */
export const newTestDatabase = (shared?: { url: string; name: string }, closers = open): Promise<TestPlace> =>
  newPlace(closers, shared);

export class TestService {
  readonly legate: Legate;
  readonly clock: FakeClock;
  readonly database: { url: string; name: string };
  #count = 0;

  constructor(legate: Legate, clock: FakeClock, database: { url: string; name: string }) {
    this.legate = legate;
    this.clock = clock;
    this.database = database;
  }

  /** One request. `as` sends a Bearer token; `body` is sent as JSON; `raw` and `headers` send anything else. */
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

  /** A user with an API token, put straight into the database. */
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
        tenant_id: o.tenantId ?? null,
        created_at: now,
        updated_at: now,
      })
      .execute();
    return { id, email, token: await this.apiToken(id, o.scopes) };
  }

  admin(): Promise<TestUser> {
    return this.user({ role: 'admin' });
  }

  /** An API token of a user, narrowed to scopes when given. */
  async apiToken(userId: string, scopes?: string[]): Promise<string> {
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

  /** A tenant, put straight into the database. */
  async tenant(): Promise<string> {
    const now = this.clock.now();
    const id = newId('tenant', now);
    await this.legate.platform.database.write
      .insertInto('tenants')
      .values({ id, name: id, slug: id, created_at: now })
      .execute();
    return id;
  }

  /** An agent of `owner`, made over HTTP. */
  async agent(owner: TestUser, body: Record<string, unknown> = {}): Promise<TestAgent> {
    const r = await this.call('POST', '/agents', {
      as: owner,
      body: { ownerId: owner.id, name: 'agent', type: 'autonomous', ...body },
    });
    if (r.status !== 201) throw new Error(`POST /agents answered ${r.status}: ${r.text}`);
    return { id: r.body.id, token: r.body.token, body: r.body };
  }

  /** A decision over HTTP. */
  authorize(as: { token: string } | string, body: Record<string, unknown>): Promise<Answered> {
    return this.call('POST', '/authorize', { as, body });
  }
}
