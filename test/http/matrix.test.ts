import { describe, expect, it } from 'vitest';
import { type Id, newId } from '../../src/kernel/ids.ts';
import { newSecret, secretHash } from '../../src/kernel/secrets.ts';
import { distinctRoutes } from '../support/endpoints.ts';
import { createTestService, dialect, type TestService } from '../support/service.ts';
import { matrix, type Row, statusFor, type Target } from './matrix.cases.ts';
import { CALLERS, newScene, type Scene } from './matrix.scene.ts';

const everyOwnPower = [
  'agents',
  'audit',
  'authorize',
  'delegations',
  'events',
  'webhooks',
  'costs',
  'budgets',
  'approvals',
  'dashboard',
].map((name) => ({
  resource: `legate:${name}`,
  actions: ['read', 'write', 'check'],
}));

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> =>
  (service ??= createTestService({
    lasting: true,
    config: { webhooks: { allowPrivateNetworks: true }, ledger: { seal: 'on' } },
  }));

type Send = (method: string, path: string, body: unknown) => Promise<{ status: number }>;

/** A token that expires at `expiresAt`, of a session that has proved both factors. */
async function session(t: TestService, userId: Id<'user'>, expiresAt: number): Promise<string> {
  const now = t.clock.now();
  const token = newSecret('sessionToken');
  await t.legate.platform.database.write
    .insertInto('sessions')
    .values({
      id: newId('session', now),
      user_id: userId,
      token_hash: secretHash(token),
      created_at: now - 1000,
      last_used_at: now - 1000,
      expires_at: expiresAt,
      auth_time: t.clock.now(),
      both_factors: 1,
      absolute_expires_at: expiresAt,
      ip: null,
      user_agent: null,
    })
    .execute();
  return token;
}

/** Tokens of callers that have no objects in a scene. They are reused until a request has changed something. */
const strangers = new Map<keyof typeof CALLERS, string>();
async function stranger(
  name: keyof typeof CALLERS,
  create: () => Promise<{ readonly token: string }>,
): Promise<string> {
  const token = strangers.get(name) ?? (await create()).token;
  strangers.set(name, token);
  return token;
}

/** How each kind of caller sends a request. */
function caller(name: keyof typeof CALLERS, s: Scene, scope: string | undefined): Promise<Send> | Send {
  const { t, owner, agent } = s;
  const now = t.clock.now();
  const by =
    (token: string | undefined, headers?: Record<string, string>): Send =>
    (method, path, body) =>
      body instanceof URLSearchParams
        ? t.call(method, path, {
            as: token,
            raw: body.toString(),
            headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
          })
        : t.call(method, path, { as: token, ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) });
  const all: Record<keyof typeof CALLERS, () => Promise<Send> | Send> = {
    nobody: () => by(undefined),
    'an invalid credential': () => by(`lgk_${'x'.repeat(49)}`),
    'a credential in another scheme': () =>
      by(undefined, { authorization: `Basic ${Buffer.from(`${owner.email}:${owner.token}`).toString('base64')}` }),
    'the token of a revoked agent': async () =>
      by(
        await stranger(name, async () => {
          const revoked = await t.agent(owner);
          await t.call('DELETE', `/agents/${revoked.id}`, { as: owner });
          return revoked;
        }),
      ),
    'an expired API token': async () => {
      const expired = newSecret('apiToken');
      await t.legate.platform.database.write
        .insertInto('api_tokens')
        .values({
          id: newId('apiToken', now),
          user_id: owner.id,
          name: 'old',
          token_hash: secretHash(expired),
          scopes: null,
          created_at: now - 1000,
          expires_at: now,
        })
        .execute();
      return by(expired);
    },
    'an expired session': async () => by(await session(t, owner.id, now)),
    'another user': async () => by(await stranger(name, () => t.user())),
    'the owner': () => by(owner.token),
    'the owner by cookie': async () => {
      const cookie = `${t.legate.platform.config.service.name}_session=${await session(t, owner.id, now + 1e6)}`;
      return by(undefined, { cookie, origin: new URL(t.legate.baseUrl).origin });
    },
    "the owner's token narrowed to the required scope": async () =>
      by(await t.apiToken(owner.id, [scope ?? 'offline_access'])),
    "the owner's token narrowed to another scope": async () => by(await t.apiToken(owner.id, ['mcp:read'])),
    'the agent itself': () => by(agent.token),
    'another agent of the owner': async () => by((await t.agent(owner)).token),
    'a gateway agent of the owner': async () => by((await t.agent(owner, { permissions: everyOwnPower })).token),
    "another owner's agent": async () => by(await stranger(name, async () => t.agent(await t.user()))),
    'an admin': async () => by(await stranger(name, () => t.admin())),
    'an auditor': async () => by(await stranger(name, () => t.user({ role: 'auditor' }))),
  };
  return all[name]();
}

/**
 * Every kind of caller on SQLite. PostgreSQL runs the same code for rights, so there the test uses one caller for each
 * status of the row, and an admin, for whom queries have no filter by owner.
 */
function callersOf(method: string, { want }: Row): (keyof typeof CALLERS)[] {
  const all = Object.keys(CALLERS) as (keyof typeof CALLERS)[];
  const statusOf = (name: keyof typeof CALLERS): number => statusFor(method, want, CALLERS[name]);
  if (dialect === 'sqlite') return all;
  return all.filter((name) => name === 'an admin' || all.find((other) => statusOf(other) === statusOf(name)) === name);
}

describe('the permission matrix', () => {
  const endpoints = async (): Promise<string[]> => {
    const t = await shared();
    return distinctRoutes(t.legate.platform.config).map(({ route, path }) => `${route.method} ${path}`);
  };

  it('has exactly one row for each endpoint', async () => {
    expect(Object.keys(matrix).sort()).toEqual((await endpoints()).sort());
  });

  it.each(Object.entries(matrix))('%s', async (endpoint, row) => {
    const t = await shared();
    const got: Record<string, number> = {};
    const wanted: Record<string, number> = {};
    const method = endpoint.split(' ')[0] as string;
    let s: Scene | undefined;
    let target: Target | undefined;
    for (const name of callersOf(method, row)) {
      // A refusal for lack of a right changes nothing, and neither does a GET, so the next caller uses the same scene.
      // Another response may have used up the target, and a public endpoint counts failed attempts.
      s ??= await newScene(t);
      const send = await caller(name, s, row.scope);
      target ??= await row.target(s);
      const { status } = await send(method, target.path, target.body);
      got[name] = status;
      wanted[name] = statusFor(method, row.want, CALLERS[name]);
      if (method === 'GET' || (status >= 400 && row.want.everyone === undefined)) continue;
      s = target = undefined;
      strangers.delete(name);
    }
    expect(got).toEqual(wanted);
  });
});
