import { describe, expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import { asId } from '../../kernel/ids.ts';

const root = { email: 'root@example.com', password: 'correct horse battery' };

describe('legate.users', () => {
  it('creates an administrator while sign-up is closed, with the same validation as the endpoint', async () => {
    const t = await createTestService({ config: { users: { signUp: 'closed' } } });
    const { users } = t.legate;
    const made = await users.create({ ...root, role: 'admin' });
    expect(made).toMatchObject({ email: root.email, role: 'admin' });
    expect((await t.call('POST', '/sign-in', { body: root })).body.user).toEqual(made);
    await expect(users.create({ ...root, email: 'ROOT@example.com' })).rejects.toMatchObject({
      code: 'EMAIL_IN_USE',
      status: 422,
    });
    await expect(users.create({ ...root, password: 'short' })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('lists more than one page, reads, changes and deletes', async () => {
    const t = await createTestService();
    const { users, platform } = t.legate;
    const [admin, alice] = [await t.admin(), await t.user()];
    const row = await platform.database.read
      .selectFrom('users')
      .selectAll()
      .where('id', '=', alice.id)
      .executeTakeFirstOrThrow();
    const many = Array.from({ length: 1100 }, (_item, i) => ({
      ...row,
      id: asId('user', `ext-${i}`),
      email: null,
      email_key: null,
    }));
    for (let at = 0; at < many.length; at += 100)
      await platform.database.write
        .insertInto('users')
        .values(many.slice(at, at + 100))
        .execute();
    expect(new Set((await users.list()).map((u) => u.id)).size).toBe(1102);
    expect((await users.list({ role: 'admin' })).map((u) => u.id)).toEqual([admin.id]);
    expect((await users.update(alice.id, { name: 'Alice' })).name).toBe('Alice');
    expect((await users.get(alice.id)).name).toBe('Alice');
    await users.delete(alice.id);
    await expect(users.get(alice.id)).rejects.toMatchObject({ code: 'USER_NOT_FOUND', status: 404 });
    await expect(users.delete(admin.id)).rejects.toMatchObject({ code: 'LAST_ADMIN', status: 409 });
  });
});

describe('legate.apiTokens', () => {
  it('creates, lists and revokes tokens of any user', async () => {
    const t = await createTestService();
    const { apiTokens } = t.legate;
    const alice = await t.user();
    const { token, ...shown } = await apiTokens.create(alice.id, {
      name: 'ci',
      scopes: ['agents:read'],
      expiresAt: '2031-01-01T00:00:00Z',
    });
    expect(await apiTokens.list(alice.id)).toContainEqual(shown);
    expect((await t.call('GET', '/agents', { as: token })).status).toBe(200);
    await apiTokens.revoke(shown.id);
    expect((await t.call('GET', '/agents', { as: token })).status).toBe(401);
    await expect(apiTokens.revoke(shown.id)).rejects.toMatchObject({ code: 'API_TOKEN_NOT_FOUND' });
    await expect(apiTokens.create('usr_x', { name: 'ci' })).rejects.toMatchObject({ code: 'USER_NOT_FOUND' });
    await expect(apiTokens.create(alice.id, { name: '' })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });
});
