import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService } from '../../../test/support/service.ts';

describe('POST /agents', () => {
  describe('400', () => {
    const bodies: [string, string, (valid: Record<string, unknown>) => unknown][] = [
      ['no ownerId', 'ownerId', ({ ownerId: _, ...rest }) => rest],
      ['a number as ownerId', 'ownerId', (b) => ({ ...b, ownerId: 1 })],
      ['an empty ownerId', 'ownerId', (b) => ({ ...b, ownerId: '' })],
      ['too long an ownerId', 'ownerId', (b) => ({ ...b, ownerId: 'u'.repeat(129) })],
      ['an ownerId with NUL', 'ownerId', (b) => ({ ...b, ownerId: 'a\u0000b' })],
      ['no name', 'name', ({ name: _, ...rest }) => rest],
      ['an empty name', 'name', (b) => ({ ...b, name: '' })],
      ['too long a name', 'name', (b) => ({ ...b, name: 'n'.repeat(201) })],
      ['a name with NUL', 'name', (b) => ({ ...b, name: 'a\u0000' })],
      ['a name with a lone surrogate', 'name', (b) => ({ ...b, name: '\ud800' })],
      ['no type', 'type', ({ type: _, ...rest }) => rest],
      ['an unknown type', 'type', (b) => ({ ...b, type: 'human' })],
      ['permissions that are not an array', 'permissions', (b) => ({ ...b, permissions: {} })],
      ['a permission without actions', 'permissions.0.actions', (b) => ({ ...b, permissions: [{ resource: 'a:b' }] })],
      [
        'a star inside a segment',
        'permissions.0.resource',
        (b) => ({ ...b, permissions: [{ resource: 'mcp:git*', actions: ['read'] }] }),
      ],
      [
        'an unknown constraint',
        'permissions.0.constraints.maxCallPerHour',
        (b) => ({ ...b, permissions: [{ resource: 'a:b', actions: ['read'], constraints: { maxCallPerHour: 1 } }] }),
      ],
      [
        '1,001 permissions',
        'permissions',
        (b) => ({ ...b, permissions: Array.from({ length: 1001 }, () => ({ resource: 'a:b', actions: ['read'] })) }),
      ],
      ['a date without a time', 'expiresAt', (b) => ({ ...b, expiresAt: '2031-01-01' })],
      ['a time without a zone', 'expiresAt', (b) => ({ ...b, expiresAt: '2031-01-01T00:00:00' })],
      ['a date that does not exist', 'expiresAt', (b) => ({ ...b, expiresAt: '2031-02-30T00:00:00Z' })],
      ['a time beyond the year 9999', 'expiresAt', (b) => ({ ...b, expiresAt: '9999-12-31T23:59:59-01:00' })],
      ['milliseconds as expiresAt', 'expiresAt', (b) => ({ ...b, expiresAt: 2_000_000_000_000 })],
      ['an array as metadata', 'metadata', (b) => ({ ...b, metadata: [] })],
      ['null as metadata', 'metadata', (b) => ({ ...b, metadata: null })],
      [
        'metadata over 16 KB',
        'metadata',
        (b) => ({ ...b, metadata: { a: `ä${'x'.repeat(16 * 1024 - '{"a":"ä"}'.length)}` } }),
      ],
      ['metadata with a lone surrogate', 'metadata.a', (b) => ({ ...b, metadata: { a: '\udfff' } })],
      ['an unknown field', 'permission', (b) => ({ ...b, permission: [] })],
      ['a token of its own', 'token', (b) => ({ ...b, token: 'lgt_mine' })],
      ['a status', 'status', (b) => ({ ...b, status: 'active' })],
      ['a tenantId', 'tenantId', (b) => ({ ...b, tenantId: 'tnt_1' })],
      ['an array', '', () => []],
      ['null', '', () => null],
    ];
    it('names the invalid field, and creates nothing', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const valid = { ownerId: alice.id, name: 'a', type: 'service' };
      for (const [what, path, body] of bodies) {
        const r = await t.call('POST', '/agents', { as: alice, body: body(valid) });
        expect(r.status, what).toBe(400);
        expect(r.body.error.code, what).toBe('VALIDATION_FAILED');
        expect(
          r.body.error.details.issues.map((i: { path: string }) => i.path),
          what,
        ).toContain(path);
      }
      expect((await t.call('GET', '/agents', { as: alice })).body).toEqual([]);
      expect(await eventsOf(t)).toEqual([]);
    });

    it('names the permissions that would be allowed', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const refused = async (body: object) =>
        (await t.call('POST', '/agents', { as: alice, body })).body.error.details.issues;
      const permissions = [1e9 + 1, -1, 0.5].map((maxCallsPerHour) => ({
        resource: 'a:b',
        actions: ['read'],
        constraints: { maxCallsPerHour },
      }));
      expect(await refused({ ownerId: alice.id, type: 'service', permissions })).toEqual([
        { path: 'name', message: 'is required' },
        ...permissions.map((_, i) => ({
          path: `permissions.${i}.constraints.maxCallsPerHour`,
          message: 'must be a whole number from 0 to 1000000000',
        })),
      ]);
    });

    it('truncates a long name in the response, both from the body and from the query', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const name = 'n'.repeat(5000);
      const issues = [{ path: 'n'.repeat(200), message: 'is not a known field' }];
      const refused = [
        await t.call('POST', '/agents', {
          as: alice,
          body: { ownerId: alice.id, name: 'a', type: 'service', [name]: 1 },
        }),
        await t.call('GET', `/agents?${name}`, { as: alice }),
      ];
      for (const r of refused)
        expect([r.status, r.body.error.details.issues, r.text.length < 1000]).toEqual([400, issues, true]);
    });

    it('refuses ambiguous and invalid JSON', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const head = `"ownerId":"${alice.id}","name":"a","type":"service"`;
      const raws = [
        '',
        '{',
        `{${head},}`,
        `{${head},"name":"b"}`,
        `{${head},"metadata":{"k":1,"k":2}}`,
        `{${head},"metadata":{"n":1e400}}`,
        `{${head},"__proto__":{"name":"x"}}`,
        `{${head},"constructor":{"prototype":{}}}`,
        `{${head},"permissions":[{"resource":"a:b","actions":["read"],"__proto__":{"constraints":{}}}]}`,
        `{${head},"permissions":[{"resource":"a:b","actions":["read"],` +
          '"constraints":{"__proto__":{"maxCallsPerHour":1}}}]}',
        `{${head},"metadata":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`,
        new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
      ];
      for (const raw of raws) {
        const r = await t.call('POST', '/agents', { as: alice, raw, headers: { 'content-type': 'application/json' } });
        expect(r.status, String(raw)).toBe(400);
        expect(r.body.error.code).toBe('VALIDATION_FAILED');
      }
      expect((await t.call('GET', '/agents', { as: alice })).body).toEqual([]);
    });

    it('stores unusual keys of metadata as data, and no prototype changes', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const metadata =
        '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":"x","":"empty"}';
      const r = await t.call('POST', '/agents', {
        as: alice,
        raw: `{"ownerId":"${alice.id}","name":"a","type":"service","metadata":${metadata}}`,
        headers: { 'content-type': 'application/json' },
      });
      expect(r.status).toBe(201);
      expect(r.text).toContain(`"metadata":${metadata}`);
      expect((await t.call('GET', `/agents/${r.body.id}`, { as: alice })).text).toContain(`"metadata":${metadata}`);
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    });
  });

  it('401 without a credential, and with an invalid one', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const body = { ownerId: alice.id, name: 'a', type: 'service' };
    const none = await t.call('POST', '/agents', { body });
    expect(none.status).toBe(401);
    expect(none.headers.get('www-authenticate')).toMatch(/^Bearer issuer="/);
    const wrong = await t.call('POST', '/agents', { as: `${alice.token.slice(0, -1)}?`, body });
    expect(wrong.status).toBe(401);
    expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  it('403 for another owner, an agent without the right, and a token without the scope', async () => {
    const t = await createTestService();
    const [alice, bob] = [await t.user(), await t.user()];
    const gateway = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['write'] }] });
    const reader = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['read'] }] });
    const capped = await t.agent(alice, {
      permissions: [{ resource: 'legate:agents', actions: ['write'], constraints: { maxCallsPerHour: 5 } }],
    });
    const scoped = await t.apiToken(alice.id, ['agents:read', 'authorize']);
    const make = (as: { token: string } | string, ownerId: string) =>
      t.call('POST', '/agents', { as, body: { ownerId, name: 'a', type: 'service' } });
    for (const r of [
      await make(alice, bob.id),
      await make(alice, 'usr_nobody'),
      await make(gateway, bob.id),
      await make(reader, alice.id),
      await make(capped, alice.id),
      await make(scoped, alice.id),
    ]) {
      expect(r.status).toBe(403);
      expect(r.body.error.code).toBe('FORBIDDEN');
    }
  });

  it('405, 413 and 415, as for other endpoints', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const wrongMethod = await t.call('PUT', '/agents', { as: alice, body: {} });
    expect(wrongMethod.status).toBe(405);
    expect(wrongMethod.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD', 'POST']);
    const body = { ownerId: alice.id, name: 'a', type: 'service' };
    expect(
      (await t.call('POST', '/agents', { as: alice, body: { ...body, metadata: { a: 'x'.repeat(1_100_000) } } }))
        .status,
    ).toBe(413);
    expect(
      (
        await t.call('POST', '/agents', {
          as: alice,
          raw: JSON.stringify(body),
          headers: { 'content-type': 'text/plain' },
        })
      ).status,
    ).toBe(415);
  });

  describe('422', () => {
    it('OWNER_NOT_FOUND if an admin names an unknown user', async () => {
      const t = await createTestService();
      const r = await t.call('POST', '/agents', {
        as: await t.admin(),
        body: { ownerId: 'usr_nobody', name: 'a', type: 'service' },
      });
      expect(r.status).toBe(422);
      expect(r.body.error.code).toBe('OWNER_NOT_FOUND');
    });

    it('EXPIRES_AT_IN_PAST for every time up to the current millisecond', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const at = (expiresAt: string) =>
        t.call('POST', '/agents', { as: alice, body: { ownerId: alice.id, name: 'a', type: 'service', expiresAt } });
      for (const past of ['2030-01-15T10:10:00.000Z', '2030-01-15T10:09:59.999Z', '1969-01-01T00:00:00Z']) {
        const r = await at(past);
        expect(r.status, past).toBe(422);
        expect(r.body.error.code).toBe('EXPIRES_AT_IN_PAST');
      }
      expect((await at('2030-01-15T10:10:00.001Z')).status).toBe(201);
    });

    it('AGENT_LIMIT_EXCEEDED, exactly, under 200 parallel calls', async () => {
      const t = await createTestService({ config: { agents: { maxPerOwner: 150 } } });
      const [alice, bob] = [await t.user(), await t.user()];
      const make = () =>
        t.call('POST', '/agents', { as: alice, body: { ownerId: alice.id, name: 'a', type: 'service' } });
      const answers = await Promise.all(Array.from({ length: 200 }, make));
      expect(answers.filter((r) => r.status === 201)).toHaveLength(150);
      const refused = answers.filter((r) => r.status !== 201);
      for (const r of refused)
        expect(r.body.error).toMatchObject({ code: 'AGENT_LIMIT_EXCEEDED', details: { limit: 150 } });
      expect(refused).toHaveLength(50);
      expect((await t.call('GET', '/agents', { as: alice })).body).toHaveLength(150);
      expect(await eventsOf(t)).toHaveLength(150);
      expect(new Set(answers.map((r) => r.body.token)).size).toBe(151);
      await t.agent(bob);
    });

    it('counts neither revoked nor expired agents', async () => {
      const t = await createTestService({ config: { agents: { maxPerOwner: 2 } } });
      const alice = await t.user();
      const first = await t.agent(alice);
      await t.agent(alice, { expiresAt: '2030-01-15T11:00:00.000Z' });
      const body = { ownerId: alice.id, name: 'a', type: 'service' };
      expect((await t.call('POST', '/agents', { as: alice, body })).status).toBe(422);
      await t.call('DELETE', `/agents/${first.id}`, { as: alice });
      expect((await t.call('POST', '/agents', { as: alice, body })).status).toBe(201);
      t.clock.set('2030-01-15T10:59:59.999Z');
      expect((await t.call('POST', '/agents', { as: alice, body })).status).toBe(422);
      t.clock.set('2030-01-15T11:00:00.000Z');
      expect((await t.call('POST', '/agents', { as: alice, body })).status).toBe(201);
    });
  });
});
