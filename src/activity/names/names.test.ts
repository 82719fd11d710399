import { describe, expect, it } from 'vitest';
import {
  apiToken,
  approval,
  budget,
  client,
  delegation,
  grant,
  invite,
  newScene,
  registered,
  webhook,
} from '../../../test/http/matrix.scene.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> =>
  (service ??= createTestService({ lasting: true, config: { webhooks: { allowPrivateNetworks: true } } }));

describe('GET /names', () => {
  it('names every kind of id for those who see it, in the order of the request', async () => {
    const t = await shared();
    const s = await newScene(t);
    const admin = await t.admin();
    const clientId = await client(s);
    const grantId = await grant(s);
    await t.legate.platform.database.write
      .updateTable('oauth_grants')
      .set({ client_id: clientId })
      .where('id', '=', grantId)
      .execute();
    await t.legate.platform.database.write
      .updateTable('oauth_clients')
      .set({ name: 'An app' })
      .where('id', '=', clientId)
      .execute();
    const tenant = await t.tenant();
    const own = [
      [s.agent.id, 'agent', 'agent'],
      [s.owner.id, 'user', expect.stringContaining('User')],
      [await delegation(s), 'delegation', 'agent → agent'],
      [await apiToken(s), 'apiToken', 'one'],
      [clientId, 'client', 'An app'],
      [grantId, 'grant', 'An app'],
      [await webhook(s), 'webhook', 'http://127.0.0.1:9'],
      [await approval(s), 'approval', 'pay bank:x'],
      [await budget(s), 'budget', 'calls per day'],
    ] as const;
    const forAdmins = [
      [await registered(s), 'mcpServer', expect.stringContaining('server')],
      [await invite(s), 'invite', expect.stringContaining('invited')],
      [tenant, 'tenant', tenant],
    ] as const;
    const every = [...own, ...forAdmins];
    const ids = every.map(([id]) => id).toReversed();
    const ask = async (as: { token: string } | string): Promise<Json> => {
      const r = await t.call('GET', `/names?ids=${ids.join(',')}`, { as });
      expect(r.status).toBe(200);
      return r.body;
    };
    const shown = (some: readonly (readonly [string, string, unknown])[]) =>
      some.toReversed().map(([id, kind, name]) => ({ id, kind, name }));
    expect(await ask(admin)).toEqual(shown(every));
    expect(await ask(await t.user({ role: 'auditor' }))).toEqual(shown(every));
    expect(await ask(s.owner)).toEqual(shown(own));
    expect(await ask(await t.user({ tenantId: tenant }))).toEqual(shown(forAdmins.slice(2)));
    expect(await ask(await t.user())).toEqual([]);
    // Narrowed credentials see agents alone: the agent itself, or those of the owner.
    expect(await ask(s.agent)).toEqual(shown(own.slice(0, 1)));
    expect(await ask(s.other)).toEqual([]);
    expect(await ask(await t.apiToken(s.owner.id, ['agents:read']))).toEqual(shown(own.slice(0, 1)));
  });

  it('leaves out what has no name, does not exist or is no id, and refuses too many', async () => {
    const t = await shared();
    const admin = await t.admin();
    const unknown = ['agt_x', `agt_${'0'.repeat(26)}`, `aud_${'0'.repeat(26)}`, "'; drop table agents", 'constructor'];
    const r = await t.call('GET', `/names?ids=${encodeURIComponent(unknown.join(','))}`, { as: admin });
    expect([r.status, r.body]).toEqual([200, []]);
    const many = Array.from({ length: 10_000 }, (_, i) => `agt_${i}`).join(',');
    for (const query of ['', 'ids=', 'ids=,', `ids=${many}`, 'ids=a&kind=agent', `ids=${'a,b,'.repeat(100)}x%00`])
      expect([query.slice(0, 20), (await t.call('GET', `/names?${query}`, { as: admin })).status]).toEqual([
        query.slice(0, 20),
        400,
      ]);
  });
});
