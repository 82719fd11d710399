import { describe, expect, it } from 'vitest';
import { SYSTEM } from '../../src/access/actor.ts';
import {
  type AuthorizeAnswer,
  type AuthorizeInput,
  authorize,
  type Permission,
} from '../../src/authorization/permissions/index.ts';
import { asId, type Id, newId } from '../../src/kernel/ids.ts';
import { newSecret, secretHash } from '../../src/kernel/secrets.ts';
import { createTestService, type TestService } from '../support/service.ts';

const asker = {
  principal: null,
  epoch: 0,
  reauthenticate: async () => ({ kind: 'anonymous' }) as const,
  ip: null,
  userAgent: null,
  startedAt: 0,
};
const ask = (t: TestService, input: AuthorizeInput): Promise<AuthorizeAnswer> =>
  authorize(t.legate.platform, asker, input);

const OWNER = asId('user', 'usr_x');

async function putAgent(t: TestService, permissions: Permission[]): Promise<Id<'agent'>> {
  return t.legate.platform.ledger.change(SYSTEM, async (change) => {
    const id = newId('agent', change.now);
    await change.db
      .insertInto('agents')
      .values({
        id,
        owner_id: OWNER,
        tenant_id: null,
        name: 'a',
        type: 'autonomous',
        token_hash: secretHash(newSecret('agentToken')),
        revoked_at: null,
        expires_at: null,
        permissions: JSON.stringify(permissions),
        metadata: '{}',
        created_at: change.now,
        updated_at: change.now,
        policy_epoch: change.epoch,
      })
      .execute();
    change.invalidate();
    change.emit({ type: 'agent.created', agentId: id, userId: OWNER, data: { agentId: id } });
    return id;
  });
}

const revoke = (t: TestService, id: Id<'agent'>): Promise<void> =>
  t.legate.platform.ledger.change(SYSTEM, async (change) => {
    await change.db
      .updateTable('agents')
      .set({ revoked_at: change.now, policy_epoch: change.epoch })
      .where('id', '=', id)
      .execute();
    change.invalidate();
    change.emit({ type: 'agent.revoked', agentId: id, userId: OWNER, data: { agentId: id, reason: 'revoked' } });
  });

const rows = (t: TestService) =>
  t.legate.platform.database.read.selectFrom('stream_events').selectAll().orderBy('seq').execute();

describe('the ledger', () => {
  it('assigns one sequence without gaps to decisions and changes', async () => {
    const t = await createTestService();
    const id = await putAgent(t, [{ resource: 'db:*', actions: ['read'] }]);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        ask(t, { agentId: asId('agent', id), action: i % 2 ? 'read' : 'write', resource: 'db:x' }),
      ),
    );
    await revoke(t, id);
    const all = await rows(t);
    expect(all.map((r) => r.seq)).toEqual(Array.from({ length: 102 }, (_, i) => i + 1));
    expect(all[0]?.type).toBe('agent.created');
    expect(all[101]?.type).toBe('agent.revoked');
    expect(all.slice(1, 101).map((r) => [r.id, r.result])).toEqual(
      answers.map((a) => [a.auditId, a.allowed ? 'allowed' : 'denied']),
    );
  });

  it('commits many waiting decisions in few transactions', async () => {
    const t = await createTestService();
    const id = await putAgent(t, [{ resource: '*', actions: ['*'] }]);
    await Promise.all(
      Array.from({ length: 200 }, () => ask(t, { agentId: asId('agent', id), action: 'read', resource: 'db:x' })),
    );
    expect(t.legate.platform.ledger.stats.records).toBe(200);
    expect(t.legate.platform.ledger.stats.batches).toBeLessThan(10);
  });

  it('never decreases timestamps along the sequence', async () => {
    const t = await createTestService();
    const id = await putAgent(t, [{ resource: '*', actions: ['*'] }]);
    await ask(t, { agentId: asId('agent', id), action: 'read', resource: 'a' });
    t.clock.advance(-3_600_000);
    await ask(t, { agentId: asId('agent', id), action: 'read', resource: 'b' });
    await revoke(t, id);
    const times = (await rows(t)).map((r) => r.timestamp);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('rolls back a failed change completely, including its events', async () => {
    const t = await createTestService();
    await expect(
      t.legate.platform.ledger.change(SYSTEM, async (change) => {
        await change.db
          .insertInto('tenants')
          .values({ id: asId('tenant', 'tnt_1'), name: 'n', slug: 's', created_at: 1 })
          .execute();
        change.emit({ type: 'agent.updated', data: {} });
        change.invalidate();
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await t.legate.platform.database.read.selectFrom('tenants').selectAll().execute()).toEqual([]);
    expect(await rows(t)).toEqual([]);
    const head = await t.legate.platform.database.read.selectFrom('head').selectAll().executeTakeFirstOrThrow();
    expect([head.seq, head.epoch]).toEqual([0, 1]);
  });
});

describe('a listener that throws', () => {
  it('does not fail the committed call and does not affect the other listeners', async () => {
    const t = await createTestService();
    const { ledger } = t.legate.platform;
    const heard: string[] = [];
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): number => unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    ledger.onCommit(() => {
      throw new Error('a broken listener');
    });
    ledger.onInvalidate(() => {
      throw new Error('a broken listener');
    });
    ledger.onCommit(({ firstSeq }) => heard.push(`commit ${firstSeq}`));
    ledger.onInvalidate(() => heard.push('invalidated'));
    const before = ledger.stats.changes;
    const id = await putAgent(t, [{ resource: 'db:*', actions: ['read'] }]);
    expect(ledger.stats.changes).toBe(before + 1);
    expect(await ask(t, { agentId: asId('agent', id), action: 'read', resource: 'db:x' })).toMatchObject({
      allowed: true,
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([heard, unhandled]).toEqual([['commit 1', 'invalidated', 'commit 2'], []]);
    expect((await rows(t)).map((r) => r.type)).toEqual(['agent.created', 'audit']);
    process.off('unhandledRejection', onUnhandled);
  });
});

describe('two instances on one database', () => {
  it('a revocation on one applies to the next decision of the other', async () => {
    const a = await createTestService();
    const b = await createTestService({ sameDatabaseAs: a });
    const id = await putAgent(a, [{ resource: '*', actions: ['*'] }]);
    for (let round = 0; round < 5; round++)
      expect((await ask(b, { agentId: asId('agent', id), action: 'read', resource: 'x' })).allowed).toBe(true);
    await revoke(a, id);
    expect(await ask(b, { agentId: asId('agent', id), action: 'read', resource: 'x' })).toMatchObject({
      allowed: false,
      reason: 'AGENT_REVOKED',
    });
  });

  it('nothing is allowed after the response to a revocation, under load', async () => {
    const a = await createTestService();
    const b = await createTestService({ sameDatabaseAs: a });
    for (let round = 0; round < 10; round++) {
      const id = await putAgent(a, [{ resource: '*', actions: ['*'] }]);
      let revoked = false;
      let late = 0;
      let allowed = 0;
      const load = [a, b].map(async (t) => {
        while (!revoked || late < 20) {
          const began = revoked;
          if (began) late++;
          const answers = await Promise.all(
            Array.from({ length: 8 }, () => ask(t, { agentId: asId('agent', id), action: 'read', resource: 'x' })),
          );
          for (const answer of answers) {
            if (answer.allowed) allowed++;
            if (began) expect(answer).toMatchObject({ allowed: false, reason: 'AGENT_REVOKED' });
          }
        }
      });
      while (allowed < 20) await new Promise((resolve) => setImmediate(resolve));
      await revoke(a, id);
      revoked = true;
      await Promise.all(load);
    }
  });

  it('a limit of 20 allows exactly 20 of 200 parallel calls on both', async () => {
    const a = await createTestService();
    const b = await createTestService({ sameDatabaseAs: a });
    for (let round = 0; round < 3; round++) {
      const id = await putAgent(a, [{ resource: 'mcp:gh:*', actions: ['read'], constraints: { maxCallsPerHour: 20 } }]);
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          ask(i % 2 ? a : b, { agentId: asId('agent', id), action: 'read', resource: `mcp:gh:${i}` }),
        ),
      );
      expect(answers.filter((x) => x.allowed)).toHaveLength(20);
      expect(answers.filter((x) => x.reason === 'RATE_LIMITED')).toHaveLength(180);
    }
    // Anomalies that are found in between add their own rows.
    const all = await rows(a);
    expect(all.filter((r) => r.type === 'audit')).toHaveLength(600);
    expect(all.map((r) => r.seq)).toEqual(all.map((_, i) => i + 1));
  });
});
