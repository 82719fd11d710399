import { describe, expect, it } from 'vitest';
import {
  anomaly,
  apiToken,
  approval,
  budget,
  client,
  decided,
  delegation,
  delivery,
  grant,
  invite,
  issuer,
  newScene,
  passkey,
  registered,
  scimGroup,
  session,
  trust,
  webhook,
} from '../../../test/http/matrix.scene.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { asId, ID_PREFIXES } from '../../kernel/ids.ts';

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> =>
  (service ??= createTestService({ lasting: true, config: { webhooks: { allowPrivateNetworks: true } } }));

describe('GET /names', () => {
  it('names every kind of id to callers who may see it, in the order of the request', async () => {
    const t = await shared();
    const s = await newScene(t);
    const admin = await t.admin();
    const clientId = await client(s);
    const grantId = await grant(s);
    await t.legate.platform.database.write
      .updateTable('oauth_grants')
      .set({ client_id: asId('client', clientId) })
      .where('id', '=', asId('grant', grantId))
      .execute();
    await t.legate.platform.database.write
      .updateTable('oauth_clients')
      .set({ name: 'An app' })
      .where('id', '=', asId('client', clientId))
      .execute();
    const tenant = await t.tenant();
    const auditId = await decided(s);
    const [created] = (await t.call('GET', '/events?types=agent.created', { as: s.owner })).body;
    const sessionId = await session(s);
    await t.legate.platform.database.write
      .updateTable('sessions')
      .set({ user_agent: 'curl/8.5.0' })
      .where('id', '=', asId('session', sessionId))
      .execute();
    const cost = (await t.call('POST', '/costs', { as: s.owner, body: { agentId: s.agent.id, amount: 1.5 } })).body;
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
      [auditId, 'audit', 'read db:x'],
      [auditId.replace('aud_', 'evt_'), 'event', 'read db:x'],
      [created.id, 'event', 'agent.created'],
      [sessionId, 'session', 'curl'],
      [cost.id, 'cost', '1.5 USD'],
      [await anomaly(s), 'anomaly', 'denial_burst'],
      [await delivery(s), 'delivery', 'audit'],
      [await passkey(s), 'passkey', expect.any(String)],
      [await trust(s), 'trust', 'a:b'],
    ] as const;
    const forAdmins = [
      [await registered(s), 'mcpServer', expect.stringContaining('server')],
      [await invite(s), 'invite', expect.stringContaining('invited')],
      [await issuer(s), 'issuer', expect.any(String)],
      [await scimGroup(s), 'scimGroup', expect.any(String)],
      [tenant, 'tenant', tenant],
    ] as const;
    const every = [...own, ...forAdmins];
    const { request: _, ...prefixes } = ID_PREFIXES;
    expect([...new Set(every.map(([, kind]) => kind))].sort()).toEqual(Object.keys(prefixes).sort());
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
    expect(await ask(await t.user({ tenantId: tenant }))).toEqual(shown(forAdmins.slice(-1)));
    expect(await ask(await t.user())).toEqual([]);
    // Narrowed credentials see only agents: the agent itself, or those of the owner.
    expect(await ask(s.agent)).toEqual(shown(own.slice(0, 1)));
    expect(await ask(s.other)).toEqual([]);
    expect(await ask(await t.apiToken(s.owner.id, ['agents:read']))).toEqual(shown(own.slice(0, 1)));
  });

  it('omits ids that are unknown, invalid or without a name, and refuses too many ids', async () => {
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
