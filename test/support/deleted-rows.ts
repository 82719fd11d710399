import { createTestService, type Json, type TestAgent, type TestService, type TestUser } from './service.ts';
import { until } from './until.ts';

/** A service whose entries are deleted by erasures and retention. */
export interface Scene {
  readonly t: TestService;
  readonly admin: TestUser;
  readonly agent: TestAgent;
}

export const OPTIONS = {
  withoutIntervals: true,
  config: { ledger: { seal: 'on' as const }, audit: { eraseEntries: true, retentionDays: 90 } },
};

export async function createScene(retentionDays = OPTIONS.config.audit.retentionDays): Promise<Scene> {
  const audit = { ...OPTIONS.config.audit, retentionDays };
  const t = await createTestService({ ...OPTIONS, config: { ...OPTIONS.config, audit } });
  const permissions = [{ resource: 'db:*', actions: ['read'] }];
  return { t, admin: await t.admin(), agent: await t.agent(await t.user(), { permissions }) };
}

export async function decide({ agent }: Scene, t: TestService, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++)
    ids.push((await t.authorize(agent, { action: 'read', resource: 'db:x' })).body.auditId);
  return ids;
}

/** Erases entries as soon as they are sealed. */
export async function erase({ t, admin }: Scene, auditIds: string[]): Promise<void> {
  const body = { auditIds, what: 'entry' };
  await until(async () => (await t.call('POST', '/audit/erasures', { as: admin, body })).status === 200);
}

/** Returns what the dashboard and the list of agents of a service show about the decisions. */
export async function shownBy(t: TestService, { admin }: Scene): Promise<Json> {
  const get = async (path: string): Promise<Json> => (await t.call('GET', path, { as: admin })).body;
  const { totalAuditEntries, topAgentsByCallCount } = await get('/dashboard/stats?window=all');
  const [bucket] = (await get('/dashboard/series?window=all&buckets=1')).buckets;
  const [agent] = await get('/agents?view=summary');
  return {
    entries: totalAuditEntries,
    calls: topAgentsByCallCount[0]?.callCount,
    series: bucket.allowed,
    lastDecisionAt: agent.lastDecisionAt,
  };
}

export const expected = (calls: number) => ({
  entries: calls,
  calls,
  series: calls,
  lastDecisionAt: '2030-01-15T10:10:00.000Z',
});
