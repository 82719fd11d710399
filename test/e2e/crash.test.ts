import { createHash, randomBytes } from 'node:crypto';
import { Agent as HttpAgent, request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/storage/index.ts';
import { type SignedUp, scratchFolder, serve, signUp } from '../support/cli.ts';
import { startPostgres } from '../support/postgres-server.ts';
import type { Running } from '../support/process.ts';

/** Rounds of kill -9: 20 here, any number with `npm run test:crash -- --rounds 200`. */
const ROUNDS = Number(process.env['LEGATE_TEST_CRASH_ROUNDS'] ?? 20);
const CLIENTS = 16;
const CAP = 50;

interface Answered {
  readonly id: string;
  readonly allowed: boolean;
  readonly capped: boolean;
}

interface Crew {
  readonly owner: SignedUp;
  readonly plain: string;
  readonly capped: string;
}

/** POSTs JSON on a keep-alive connection, with many more concurrent calls than `fetch` allows. */
function post(
  url: string,
  path: string,
  token: string,
  body: unknown,
  agent: HttpAgent,
): Promise<{ status: number; body: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const req = request(
      `${url}${path}`,
      {
        method: 'POST',
        agent,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          authorization: `Bearer ${token}`,
        },
      },
      (res) => {
        let out = '';
        res.setEncoding('utf8');
        res.on('data', (chunk: string) => (out += chunk));
        res.on('end', () => {
          try {
            resolve({ status: res.statusCode ?? 0, body: JSON.parse(out) as Record<string, unknown> });
          } catch (error) {
            reject(error as Error);
          }
        });
        res.on('error', reject);
      },
    );
    req.on('error', reject);
    req.end(text);
  });
}

async function crew(running: Running): Promise<Crew> {
  const owner = await signUp(running.url);
  const http = new HttpAgent({ keepAlive: true });
  const make = async (constraints?: object): Promise<string> => {
    const permissions = [
      { resource: constraints ? 'capped:*' : 'db:*', actions: ['read'], ...(constraints ? { constraints } : {}) },
    ];
    const r = await post(
      running.url,
      '/agents',
      owner.token,
      { ownerId: owner.id, name: 'a', type: 'service', permissions },
      http,
    );
    expect(r.status).toBe(201);
    return r.body['token'] as string;
  };
  const made = { owner, plain: await make(), capped: await make({ maxCallsPerHour: CAP }) };
  http.destroy();
  return made;
}

/** Loads the service, kills it some time after its first response, and collects the responses. */
async function loadUntilKilled(
  running: Running,
  { plain, capped }: Crew,
  answered: Answered[],
  killAfterMs: number,
): Promise<void> {
  const http = new HttpAgent({ keepAlive: true, maxSockets: CLIENTS });
  let dead = false;
  let armed = false;
  const died = new Promise((resolve) => running.process.once('exit', resolve));
  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    while (!dead) {
      const isCapped = i % 4 === 0;
      try {
        const r = await post(
          running.url,
          '/authorize',
          isCapped ? capped : plain,
          { action: 'read', resource: `${isCapped ? 'capped' : 'db'}:${i}` },
          http,
        );
        if (r.status !== 200) continue;
        answered.push({ id: r.body['auditId'] as string, allowed: r.body['allowed'] === true, capped: isCapped });
        if (!armed) setTimeout(() => running.process.kill('SIGKILL'), killAfterMs);
        armed = true;
      } catch {
        // A request without a response is not checked.
      }
    }
  });
  await died;
  dead = true;
  await Promise.all(clients);
  http.destroy();
}

/**
 * Checks that every answered id is stored exactly once with its result, that the sequence has no gap, and that no cap
 * was exceeded.
 */
async function verify(database: Database, answered: readonly Answered[]): Promise<number> {
  const rows = await database.read
    .selectFrom('stream_events')
    .select(['seq', 'id', 'type', 'result', 'agent_id', 'resource', 'timestamp'])
    .orderBy('seq')
    .execute();
  rows.forEach((row, i) => {
    if (row.seq !== i + 1) throw new Error(`the sequence has a gap at ${i + 1}: ${row.seq}`);
  });
  const byId = new Map(rows.map((r) => [r.id, r]));
  expect(byId.size).toBe(rows.length);
  for (const a of answered)
    if ((byId.get(a.id)?.result === 'allowed') !== a.allowed)
      throw new Error(
        `the answered decision ${a.id} (allowed: ${a.allowed}) is on record as ${byId.get(a.id)?.result ?? 'nothing'}`,
      );
  expect(new Set(answered.map((a) => a.id)).size).toBe(answered.length);
  const head = await database.read.selectFrom('head').selectAll().executeTakeFirstOrThrow();
  expect(head.seq).toBe(rows.length);
  const counters = new Map((await database.read.selectFrom('counters').selectAll().execute()).map((c) => [c.key, c]));
  // The number of allowed calls of one capped entry, by clock hour.
  const hours = new Map<number, number>();
  let holder: string | null = null;
  for (const r of rows) {
    if (r.result !== 'allowed' || r.resource === null || !r.resource.startsWith('capped:')) continue;
    holder = r.agent_id;
    const hour = Math.floor(r.timestamp / 3_600_000);
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
  }
  for (const allowed of hours.values()) expect(allowed).toBeLessThanOrEqual(CAP);
  if (holder !== null) {
    const counter = counters.get(
      createHash('sha256').update(`${holder}\n0\ncapped:*\nread`).digest('base64url').slice(0, 22),
    );
    expect([counter?.hour, counter?.used]).toEqual([Math.max(...hours.keys()), hours.get(Math.max(...hours.keys()))]);
  }
  return rows.length;
}

/** Returns all ids of GET /audit, page by page. */
async function audited(running: Running, token: string): Promise<string[]> {
  const ids: string[] = [];
  let url: string | undefined = `${running.url}/audit?limit=1000`;
  while (url) {
    const r: Response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    expect(r.status).toBe(200);
    ids.push(...((await r.json()) as { id: string }[]).map((e) => e.id));
    const next = /<([^>]+)>; rel="next"/.exec(r.headers.get('link') ?? '')?.[1];
    url = next && new URL(next, running.url).href;
  }
  return ids;
}

describe('kill -9 under load', () => {
  it(`on SQLite, ${ROUNDS} times: every answered decision is stored exactly once, and the service starts again`, {
    timeout: 300_000 + ROUNDS * 30_000,
  }, async () => {
    const cwd = scratchFolder();
    const answered: Answered[] = [];
    let team: Crew | undefined;
    for (let round = 0; round < ROUNDS; round++) {
      const running = await serve({ cwd });
      team ??= await crew(running);
      const before = answered.length;
      await loadUntilKilled(running, team, answered, 60 + Math.floor(Math.random() * 300));
      expect(answered.length).toBeGreaterThan(before);
      const database = await openDatabase(`sqlite:${join(cwd, '.legate/legate.db')}`, { serviceName: 'legate' });
      await verify(database, answered);
      await database.close();
    }
    const running = await serve({ cwd });
    const listed = await audited(running, team?.owner.token ?? '');
    expect(listed.length).toBe(new Set(listed).size);
    const known = new Set(listed);
    expect(answered.filter((a) => !known.has(a.id))).toEqual([]);
    // The cap was reached, so the run has tested it.
    expect(answered.filter((a) => a.capped && !a.allowed).length).toBeGreaterThan(0);
    expect(await running.stop()).toBe(0);
    console.log(`${ROUNDS} rounds, ${answered.length} answered decisions, none lost`);
  });

  it('on PostgreSQL, 5 times, with two instances of which one is killed', async () => {
    const postgres = await startPostgres();
    // Instances with separate data folders share one root secret.
    const env = { LEGATE_DATABASE_URL: postgres.url, LEGATE_SECRET: randomBytes(32).toString('base64url') };
    const answered: Answered[] = [];
    const survivor = await serve({ cwd: scratchFolder(), env });
    const team = await crew(survivor);
    const http = new HttpAgent({ keepAlive: true });
    let stopped = false;
    let broken = 0;
    const steady = (async () => {
      while (!stopped) {
        const r = await post(
          survivor.url,
          '/authorize',
          team.plain,
          { action: 'read', resource: 'db:steady' },
          http,
        ).catch(() => undefined);
        if (r?.status === 200)
          answered.push({ id: r.body['auditId'] as string, allowed: r.body['allowed'] === true, capped: false });
        else broken++;
      }
    })();
    for (let round = 0; round < 5; round++)
      await loadUntilKilled(
        await serve({ cwd: scratchFolder(), env }),
        team,
        answered,
        100 + Math.floor(Math.random() * 300),
      );
    stopped = true;
    await steady;
    http.destroy();
    expect(broken).toBe(0);
    expect(await survivor.stop()).toBe(0);
    const database = await openDatabase(postgres.url, { serviceName: 'legate' });
    expect(await verify(database, answered)).toBeGreaterThan(answered.length);
    await database.close();
    await postgres.remove();
  });
});
