import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';

/** A service with two agents of two owners, with three decisions and one. */
async function decided(t: TestService): Promise<{ first: string; second: string }> {
  const make = async () =>
    (
      await t.legate.agents.create({
        ownerId: (await t.user()).id,
        name: 'agent',
        type: 'service',
        permissions: [{ resource: 'a:*', actions: ['read'] }],
      })
    ).id;
  const first = await make();
  const second = await make();
  for (const [agentId, action] of [
    [first, 'read'],
    [first, 'write'],
    [second, 'read'],
    [first, 'read'],
  ] as const) {
    await t.legate.authorize({ agentId, action, resource: 'a:b' });
    t.clock.advance(1000);
  }
  return { first, second };
}

describe('legate.audit.query', () => {
  it('returns the entries of all owners, newest first, in pages', async () => {
    const t = await createTestService();
    const { first, second } = await decided(t);
    const page = await t.legate.audit.query({ limit: 3 });
    expect(page.entries.map((e) => [e.agentId, e.action, e.result])).toEqual([
      [first, 'read', 'allowed'],
      [second, 'read', 'allowed'],
      [first, 'write', 'denied'],
    ]);
    const rest = await t.legate.audit.query({ limit: 3, cursor: page.next });
    expect(rest.entries.map((e) => e.action)).toEqual(['read']);
    expect(rest.next).toBeUndefined();
  });

  it('filters and skips entries', async () => {
    const t = await createTestService();
    const { first } = await decided(t);
    expect((await t.legate.audit.query({ agentId: first, actions: 'write,delete' })).entries).toHaveLength(1);
    expect((await t.legate.audit.query({ agentId: first, offset: 2 })).entries).toHaveLength(1);
    expect((await t.legate.audit.query({ since: '2030-01-15T10:10:02.000Z' })).entries).toHaveLength(2);
    expect((await t.legate.audit.query({ result: 'denied' })).entries).toHaveLength(1);
  });

  it('throws 400 VALIDATION_FAILED for input that HTTP refuses', async () => {
    const t = await createTestService();
    for (const filter of [
      { limit: 0 },
      { limit: 1001 },
      { limit: 1.5 },
      { offset: 10_001 },
      { since: 'yesterday' },
      { agentID: 'x' },
      { cursor: 'x' },
    ]) {
      await expect(t.legate.audit.query(filter as never), JSON.stringify(filter)).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        status: 400,
      });
    }
  });
});

describe('legate.audit.get', () => {
  it('returns an entry', async () => {
    const t = await createTestService();
    const { second } = await decided(t);
    const { auditId } = await t.legate.check({ agentId: second, action: 'read', resource: 'a:c' });
    expect(await t.legate.audit.get(auditId as string)).toMatchObject({
      id: auditId,
      agentId: second,
      resource: 'a:c',
      result: 'allowed',
    });
  });

  it('throws 404 AUDIT_ENTRY_NOT_FOUND', async () => {
    const t = await createTestService();
    await expect(t.legate.audit.get('aud_none')).rejects.toMatchObject({ code: 'AUDIT_ENTRY_NOT_FOUND', status: 404 });
  });
});

describe('legate.audit.export', () => {
  it('returns the file as a stream, oldest first', async () => {
    const t = await createTestService();
    const { first } = await decided(t);
    const file = t.legate.audit.export({ format: 'json', agentId: first });
    expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-.*\.json"$/);
    expect(((await file.json()) as { action: string }[]).map((e) => e.action)).toEqual(['read', 'write', 'read']);
  });

  it('throws 400 VALIDATION_FAILED for an unknown format', async () => {
    const t = await createTestService();
    expect(() => t.legate.audit.export({ format: 'xml' as never })).toThrow(
      expect.objectContaining({ code: 'VALIDATION_FAILED', status: 400 }),
    );
  });
});
