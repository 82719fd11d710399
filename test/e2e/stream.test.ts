import { randomBytes } from 'node:crypto';
import { createParser } from 'eventsource-parser';
import { expect, it } from 'vitest';
import { scratchFolder, serve, signUp } from '../support/cli.ts';
import { startPostgres } from '../support/postgres-server.ts';
import type { Running } from '../support/process.ts';
import type { Json } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The number of events that every reader must receive before the process is stopped or killed again. */
const STEP = 80;

interface Place {
  url: string;
}

/** Follows a stream across processes, and reconnects with the id of its last event. */
class Reader {
  readonly ids: string[] = [];
  /** How each connection ended. */
  readonly ends: ('closed' | 'broken')[] = [];
  readonly errors: string[] = [];
  readonly #place: Place;
  readonly #token: string;
  readonly #done = new AbortController();

  constructor(place: Place, token: string) {
    this.#place = place;
    this.#token = token;
    void this.#follow();
  }

  stop(): void {
    this.#done.abort();
  }

  async #follow(): Promise<void> {
    while (!this.#done.signal.aborted) {
      const last = this.ids.at(-1);
      const headers = { authorization: `Bearer ${this.#token}`, ...(last ? { 'last-event-id': last } : {}) };
      const response = await fetch(`${this.#place.url}/api/legate/events/stream?since=2020-01-01T00:00:00Z`, {
        headers,
        signal: this.#done.signal,
      }).catch(() => undefined);
      if (response?.status !== 200 || !response.body) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
      const parser = createParser({
        onEvent: ({ id, event, data }) =>
          void (event === 'error' ? this.errors.push(data) : this.ids.push(id as string)),
      });
      const decoder = new TextDecoder();
      try {
        for await (const piece of response.body as ReadableStream<Uint8Array>)
          parser.feed(decoder.decode(piece, { stream: true }));
        this.ends.push('closed');
      } catch {
        this.ends.push('broken');
      }
    }
  }
}

async function call(url: string, token: string, path: string, body?: unknown): Promise<Json> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const r = await fetch(
    `${url}${path}`,
    body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
  );
  expect(r.ok, `${path} answered ${r.status}`).toBe(true);
  return r.json();
}

/** Returns all events that a token may see, oldest first. */
async function listed(url: string, token: string): Promise<Json[]> {
  const all: Json[] = [];
  for (let next: string | undefined = '/events?limit=1000'; next; ) {
    const r: Response = await fetch(new URL(next, url), { headers: { authorization: `Bearer ${token}` } });
    all.push(...((await r.json()) as Json[]));
    next = /<([^>]+)>; rel="next"/.exec(r.headers.get('link') ?? '')?.[1];
  }
  return all.reverse();
}

/** Stops a service, then kills it twice, while readers follow it and decisions are requested. */
async function survive(env: Record<string, string>, survivor?: Running): Promise<void> {
  const cwd = scratchFolder();
  let running = await serve({ cwd, env });
  const place = { url: running.url };
  const { id: ownerId, token } = await signUp(place.url);
  const agents: Json[] = [];
  for (const name of ['first', 'second'])
    agents.push(await call(place.url, token, '/agents', { ownerId, name, type: 'service' }));
  const ofOwner = [
    new Reader(place, token),
    new Reader(place, token),
    ...(survivor ? [new Reader(survivor, token)] : []),
  ];
  const ofAgent = [new Reader(place, agents[0].token), ...(survivor ? [new Reader(survivor, agents[0].token)] : [])];
  const readers = [...ofOwner, ...ofAgent];
  const answered: string[] = [];
  let writing = true;
  const writers = agents.flatMap(({ token: as }) =>
    Array.from({ length: 4 }, async () => {
      while (writing) {
        try {
          const { auditId } = await call(place.url, as, '/authorize', { action: 'read', resource: 'db:x' });
          answered.push(`evt_${auditId.slice(4)}`);
        } catch {
          // A request without a response is not checked.
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      }
    }),
  );
  const progress = async (): Promise<void> => {
    const from = readers.map((reader) => reader.ids.length);
    await until(() => readers.every((reader, i) => reader.ids.length >= (from[i] as number) + STEP), {
      timeout: 60_000,
      interval: 10,
    });
  };

  await progress();
  expect(await running.stop()).toBe(0);
  const atPlace = [...ofOwner.slice(0, 2), ...ofAgent.slice(0, 1)];
  await until(() => atPlace.every((reader) => reader.ends.length > 0), { timeout: 120_000 });
  for (const { ends } of atPlace) expect(ends).toEqual(['closed']);
  for (let kills = 0; kills < 2; kills++) {
    running = await serve({ cwd, env });
    place.url = running.url;
    await progress();
    const died = new Promise((resolve) => running.process.once('exit', resolve));
    running.process.kill('SIGKILL');
    await died;
  }
  running = await serve({ cwd, env });
  place.url = running.url;
  await progress();
  writing = false;
  await Promise.all(writers);

  const all = await listed(place.url, token);
  const ids = all.map((event) => event.id);
  const ofFirst = all.filter((event) => event.agentId === agents[0].id).map((event) => event.id);
  await until(
    () => ofOwner.every((r) => r.ids.length >= ids.length) && ofAgent.every((r) => r.ids.length >= ofFirst.length),
    { timeout: 120_000 },
  );
  for (const reader of readers) reader.stop();
  for (const reader of ofOwner) expect(reader.ids).toEqual(ids);
  for (const reader of ofAgent) expect(reader.ids).toEqual(ofFirst);
  const known = new Set(ids);
  expect(answered.filter((id) => !known.has(id))).toEqual([]);
  expect(readers.flatMap((reader) => reader.errors)).toEqual([]);
  // Connections of the surviving instance never ended.
  if (survivor) for (const reader of [ofOwner[2], ofAgent[1]]) expect(reader?.ends).toEqual([]);
  for (const { ends } of atPlace) expect(ends.slice(1, 3)).toEqual(['broken', 'broken']);
  expect(await running.stop()).toBe(0);
}

it('a stream continues after restarts and kill -9: each committed event arrives once and in order (SQLite)', () =>
  survive({}));

it('a stream survives restarts and kill -9, even on another instance than the ended one (PostgreSQL)', async () => {
  const postgres = await startPostgres();
  // Instances with separate data folders share one root secret.
  const env = { LEGATE_DATABASE_URL: postgres.url, LEGATE_SECRET: randomBytes(32).toString('base64url') };
  const survivor = await serve({ cwd: scratchFolder(), env });
  await survive(env, survivor);
  expect(await survivor.stop()).toBe(0);
  await postgres.remove();
});
