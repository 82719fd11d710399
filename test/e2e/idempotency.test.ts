import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/index.ts';
import { legate, scratchFolder, serve } from '../support/cli.ts';
import type { Running } from '../support/process.ts';

const CLIENTS = 16;
/** The maximum number of rounds until a process dies between a commit and its response. */
const MAX_ROUNDS = 20;

interface Sent {
  readonly key: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
  /** The response, if one arrived. */
  answer?: string;
}

const send = async (running: Running, token: string, { key, path, body }: Sent): Promise<Response> =>
  fetch(`${running.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });

/** Sends decisions and changes until the process ends. */
async function loadUntilKilled(running: Running, token: string, agentId: string, sent: Sent[]): Promise<void> {
  let dead = false;
  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    while (!dead) {
      const n = sent.length;
      const request: Sent =
        i % 4 === 0
          ? { key: `k${n}`, path: '/tenants', body: { name: `tenant ${n}`, slug: `tenant-${n}` } }
          : i % 4 === 1
            ? { key: `k${n}`, path: '/authorize/batch', body: { requests: [ask(agentId, n), ask(agentId, n, 'b')] } }
            : { key: `k${n}`, path: '/authorize', body: ask(agentId, n) };
      sent.push(request);
      try {
        const r = await send(running, token, request);
        if (r.status < 300) request.answer = await r.text();
      } catch {
        // The process ended, before the commit or after it.
      }
    }
  });
  const died = new Promise((resolve) => running.process.once('exit', resolve));
  setTimeout(() => running.process.kill('SIGKILL'), 100 + Math.floor(Math.random() * 150));
  await died;
  dead = true;
  await Promise.all(clients);
}

const ask = (agentId: string, n: number, more = 'a'): Record<string, unknown> => ({
  agentId,
  action: 'read',
  resource: `db:${n}:${more}`,
});

describe('Idempotency-Key', () => {
  it('has one effect when the process dies between commit and response, and the repetition gets the response', {
    timeout: 120_000,
  }, async () => {
    const cwd = scratchFolder();
    const sent: Sent[] = [];
    const env = { LEGATE_ADMIN_EMAIL: 'admin@example.com', LEGATE_ADMIN_PASSWORD: 'correct horse battery' };
    let lost = 0;
    let made: { token: string; agentId: string } | undefined;
    for (let round = 0; round < MAX_ROUNDS && (round < 2 || lost === 0); round++) {
      let running = await serve({ cwd, env });
      made ??= await newAgent(running, cwd, env);
      const from = sent.length;
      await loadUntilKilled(running, made.token, made.agentId, sent);
      const before = await effects(cwd);
      lost += sent.slice(from).filter((s) => s.answer === undefined && has(before, s)).length;
      running = await serve({ cwd, env });
      for (const request of sent.slice(from)) {
        const r = await send(running, made.token, request);
        const text = await r.text();
        expect([r.status < 300, text]).toEqual([true, request.answer ?? text]);
        const replayed = r.headers.get('idempotent-replayed') === 'true';
        expect(replayed).toBe(has(before, request));
      }
      const after = await effects(cwd);
      for (const [name, count] of after) if (count !== 1) throw new Error(`${name} took effect ${count} times`);
      running.process.kill('SIGKILL');
      await new Promise((resolve) => running.process.once('exit', resolve));
    }
    expect(lost).toBeGreaterThan(0);
  });
});

const has = (counts: ReadonlyMap<string, number>, { body }: Sent): boolean =>
  [body, ...((body['requests'] as Record<string, unknown>[] | undefined) ?? [])].some((one) =>
    counts.has(String(one['resource'] ?? one['slug'])),
  );

async function newAgent(
  running: Running,
  cwd: string,
  env: Record<string, string>,
): Promise<{ token: string; agentId: string }> {
  const { stdout } = await legate(['admin', 'token'], { cwd, env });
  const token = stdout.trim();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const me = (await (await fetch(`${running.url}/auth/session`, { headers })).json()) as { user: { id: string } };
  const body = {
    ownerId: me.user.id,
    name: 'a',
    type: 'service',
    permissions: [{ resource: 'db:*', actions: ['read'] }],
  };
  const r = await fetch(`${running.url}/agents`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(r.status).toBe(201);
  return { token, agentId: ((await r.json()) as { id: string }).id };
}

/** How often each decision and each tenant was recorded. */
async function effects(cwd: string): Promise<Map<string, number>> {
  const database = await openDatabase(`sqlite:${join(cwd, '.legate/legate.db')}`, { serviceName: 'legate' });
  const decisions = await database.read
    .selectFrom('stream_events')
    .select('resource as name')
    .where('type', '=', 'audit')
    .execute();
  const tenants = await database.read.selectFrom('tenants').select('slug as name').execute();
  await database.close();
  const counts = new Map<string, number>();
  for (const { name } of [...decisions, ...tenants]) counts.set(String(name), (counts.get(String(name)) ?? 0) + 1);
  return counts;
}
