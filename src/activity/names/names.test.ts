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
import { distinctRoutes } from '../../../test/support/endpoints.ts';
import { ask as askFor, code, exchange, register } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { asId, ID_PREFIXES } from '../../kernel/ids.ts';
import { createSession } from '../../people/sessions/index.ts';
import { READERS } from './find-names.ts';

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
    const nameOf = (...wanted: string[]) => shown(own.filter(([id]) => wanted.includes(id)));
    const { id: delegationId } = (await t.call('GET', '/delegations', { as: s.owner })).body[0];
    const between = (source: string, target: string) => ({
      id: delegationId,
      kind: 'delegation',
      name: `${source} → ${target}`,
    });
    const [approvalId, trustId, anomalyId] = ['apr_', 'tru_', 'ano_'].map(
      (prefix) => ids.find((id) => id.startsWith(prefix)) ?? '',
    ) as [string, string, string];
    const eventId = auditId.replace('aud_', 'evt_');
    // An agent has its own, and does not learn the name of the other party of a delegation.
    const ofAgent = nameOf(s.agent.id, approvalId, auditId, eventId, cost.id, trustId, delegationId);
    expect(await ask(s.agent)).toEqual(
      ofAgent.map((one) => (one.id === delegationId ? between('agent', s.other.id) : one)),
    );
    expect(await ask(s.other)).toEqual([...nameOf(created.id), between(s.agent.id, 'agent')]);
    expect(await ask(await t.agent(await t.user()))).toEqual([]);
    const gateway = await t.agent(s.owner, { permissions: [{ resource: 'legate:audit', actions: ['read'] }] });
    expect(await ask(gateway)).toEqual(nameOf(auditId, anomalyId));
    // A token with scopes has what they open.
    const app = await register(t);
    const device = { ip: null, userAgent: null };
    const { token } = await t.legate.platform.ledger.change(SYSTEM, (change) =>
      createSession(t.legate.platform, change, s.owner.id, device, 'test'),
    );
    for (const [scopes, wanted] of [
      [['agents:read'], nameOf(s.agent.id, trustId)],
      [['audit:read'], nameOf(auditId, anomalyId)],
      [['events:read'], nameOf(eventId, created.id)],
      [['delegations:read'], [between(s.agent.id, s.other.id)]],
      [
        ['agents:read', 'audit:read', 'delegations:read', 'events:read'],
        nameOf(s.agent.id, trustId, auditId, anomalyId, eventId, created.id, delegationId),
      ],
    ] as const) {
      expect(await ask(await t.apiToken(s.owner.id, [...scopes]))).toEqual(wanted);
      const stranger = await t.user();
      expect(await ask(await t.apiToken(stranger.id, [...scopes]))).toEqual([]);
      const asked = askFor(app, { scope: scopes.join(' ') });
      const { access_token } = (await exchange(t, asked, await code(t, { ...s.owner, token }, asked))).body;
      expect(await ask(access_token)).toEqual(wanted);
    }
    const other = await t.call('GET', `/names?ids=${ids.join(',')}`, {
      as: await t.apiToken(s.owner.id, ['authorize']),
    });
    expect([other.status, other.body.error.details]).toEqual([403, { scope: 'agents:read' }]);
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

  it('shows each kind to those who can GET it', async () => {
    const t = await shared();
    const paths = {
      agent: '/agents/:id',
      trust: '/agents/:id/trust',
      delegation: '/delegations/:id',
      audit: '/audit/:id',
      anomaly: '/anomalies/:id',
      event: '/events',
      cost: '/costs',
      approval: '/approvals/:id',
      budget: '/budgets/:id',
      webhook: '/webhooks/:id',
      delivery: '/webhooks/deliveries/:id',
    };
    const routes = distinctRoutes(t.legate.platform.config).filter(({ route }) => route.method === 'GET');
    const declared = Object.entries(paths).map(([kind, path]) => [
      kind,
      routes.find((one) => one.path === path)?.route.access,
    ]);
    expect(Object.fromEntries(declared)).toEqual(READERS);
  });
});
