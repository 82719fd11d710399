import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';

const cappedAgent = async (t: TestService) => {
  const owner = await t.user();
  const permissions = [{ resource: 'mcp:github:*', actions: ['read'], constraints: { maxCallsPerHour: 1 } }];
  return t.legate.agents.create({ ownerId: owner.id, name: 'agent', type: 'service', permissions });
};

describe('legate.authorize', () => {
  it('decides and records as POST /authorize does', async () => {
    const t = await createTestService();
    const agent = await cappedAgent(t);
    const question = { agentId: agent.id, action: 'read', resource: 'mcp:github:list_issues' };
    expect(await t.legate.authorize(question)).toEqual({ allowed: true, auditId: expect.stringMatching(/^aud_/) });
    expect(await t.legate.authorize(question)).toEqual({
      allowed: false,
      auditId: expect.stringMatching(/^aud_/),
      reason: 'RATE_LIMITED',
      retryAfter: 3000,
      limit: 1,
      remaining: 0,
      resetAt: '2030-01-15T11:00:00.000Z',
    });
    const rows = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['agent_id', 'result'])
      .where('type', '=', 'audit')
      .orderBy('seq')
      .execute();
    expect(rows).toEqual([
      { agent_id: agent.id, result: 'allowed' },
      { agent_id: agent.id, result: 'rate_limited' },
    ]);
  });

  it('uses the address that the application states', async () => {
    const t = await createTestService();
    const agent = await cappedAgent(t);
    await t.legate.authorize({
      agentId: agent.id,
      action: 'read',
      resource: 'mcp:github:x',
      context: { ip: '198.51.100.7', userAgent: 'tool/1' },
    });
    const row = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['ip', 'user_agent'])
      .where('type', '=', 'audit')
      .executeTakeFirst();
    expect(row).toEqual({ ip: '198.51.100.7', user_agent: 'tool/1' });
  });

  it('throws 404 AGENT_NOT_FOUND', async () => {
    const t = await createTestService();
    await expect(t.legate.authorize({ agentId: 'agt_none', action: 'read', resource: 'a' })).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
      status: 404,
    });
  });

  it('throws 400 VALIDATION_FAILED for arguments and metadata that JSON cannot carry', async () => {
    const t = await createTestService();
    const agent = await cappedAgent(t);
    const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    const circular: Record<string, unknown> = { list: [] };
    (circular['list'] as unknown[]).push({ of: circular });
    const question = { agentId: agent.id, action: 'read', resource: 'mcp:github:list_issues', dryRun: true };
    const owned = { ownerId: agent.ownerId, name: 'other', type: 'service' as const };
    const tooDeep = 'is circular or nested deeper than 500 levels';
    for (const [value, path, message] of [
      [circular, '', tooDeep],
      [{ deep: nested(20_000) }, '', tooDeep],
      [{ list: [1n] }, '.list.0', 'is not a value of JSON'],
    ] as [Record<string, unknown>, string, string][]) {
      await expect(t.legate.authorize({ ...question, arguments: value })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        details: { issues: [{ path: `arguments${path}`, message }] },
      });
      await expect(t.legate.agents.create({ ...owned, metadata: value })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        details: { issues: [{ path: `metadata${path}`, message }] },
      });
    }
    expect(await t.legate.authorize({ ...question, arguments: { deep: nested(490) } })).toEqual({ allowed: true });
  });

  it('throws 400 VALIDATION_FAILED for input that HTTP refuses', async () => {
    const t = await createTestService();
    const bad: unknown[] = [
      {},
      { action: 'read', resource: 'a' },
      { agentId: 'x', action: 'read', resource: 'a\u0000' },
      { agentId: 'x', action: 'read', resource: 'a', more: 1 },
    ];
    for (const question of bad)
      await expect(t.legate.authorize(question as never)).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        status: 400,
      });
  });
});

describe('legate.check', () => {
  it('returns the text in reason and the code in code', async () => {
    const t = await createTestService();
    const agent = await cappedAgent(t);
    const question = { agentId: agent.id, action: 'read', resource: 'mcp:github:list_issues' };
    expect(await t.legate.check(question)).toEqual({ allowed: true, auditId: expect.stringMatching(/^aud_/) });
    expect(await t.legate.check(question)).toMatchObject({
      allowed: false,
      reason: 'Rate limit exceeded',
      code: 'RATE_LIMITED',
      retryAfter: 3000,
    });
    expect(await t.legate.check({ ...question, action: 'write' })).toMatchObject({
      allowed: false,
      code: 'NO_PERMISSION',
      reason: expect.stringContaining(' '),
    });
  });

  it('shares its counts with authorize', async () => {
    const t = await createTestService();
    const agent = await cappedAgent(t);
    const question = { agentId: agent.id, action: 'read', resource: 'mcp:github:list_issues' };
    await t.legate.check(question);
    expect(await t.legate.authorize(question)).toMatchObject({ allowed: false, reason: 'RATE_LIMITED' });
  });

  it('records nothing for a dry run', async () => {
    const t = await createTestService();
    const agent = await cappedAgent(t);
    const question = { agentId: agent.id, action: 'read', resource: 'mcp:github:list_issues' };
    expect(await t.legate.check({ ...question, dryRun: true })).toEqual({ allowed: true });
    expect(await t.legate.check(question)).toMatchObject({ allowed: true });
  });
});
