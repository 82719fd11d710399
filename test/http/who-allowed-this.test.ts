import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTestService, type Json } from '../support/service.ts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/who-allowed-this.md'), 'utf8');
const requests = [...guide.matchAll(/```http\n(GET|POST) (\S+)\n(?:\n([^`]+))?```/g)].map(([, method, path, body]) => ({
  method: method as string,
  path: path as string,
  body: body === undefined ? undefined : (JSON.parse(body) as Json),
}));

it('docs/guides/who-allowed-this.md: five requests name who allowed a deletion, why, and what refuses it', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const admin = await t.admin();
  const read = { resource: 'db:*', actions: ['read'] };
  const agent = await t.agent(owner, { permissions: [read] });
  const permissions = [read, { resource: 'db:customers', actions: ['delete'] }];
  await t.call('PATCH', `/agents/${agent.id}`, { as: admin, body: { permissions, reason: 'ticket 4711' } });
  const deleted = (await t.authorize(agent, { action: 'delete', resource: 'db:customers' })).body.auditId;
  await t.authorize(agent, { action: 'read', resource: 'db:customers' });
  await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: [read], reason: 'cleaned up' } });

  const values: Record<string, string> = { $AGENT: agent.id };
  const run = async (): Promise<Json> => {
    const { method, path, body } = requests.shift() as (typeof requests)[number];
    const filled = path.replaceAll(/\$[A-Z]+/g, (name) => values[name] ?? name);
    const answer = await t.call(method, filled, { as: owner, ...(body === undefined ? {} : { body }) });
    expect(answer.status, filled).toBe(200);
    return answer.body;
  };
  expect(requests).toHaveLength(5);

  const [entry] = await run();
  expect(entry).toMatchObject({
    id: deleted,
    permission: { resource: 'db:customers', source: { type: 'own' } },
  });
  expect(entry).not.toHaveProperty('askedBy');
  values['$ENTRY'] = entry.id;

  const explained = await run();
  expect(explained).toMatchObject({ asOf: entry.seq, evaluated: { result: 'allowed' }, policyChanged: true });
  expect(explained.trace.entries[1]).toMatchObject({ resource: 'db:customers', outcome: 'allowed' });

  const versions = await run();
  const grant = versions.find((v: Json) => v.seq < entry.seq && v.after.permissions);
  expect(grant).toMatchObject({ version: 2, reason: 'ticket 4711', actor: { userId: admin.id } });
  values['$ACTOR'] = grant.actor.id;

  const changes = await run();
  expect(changes.map((c: Json) => [c.type, c.agentId])).toEqual([['agent.updated', agent.id]]);

  const replayed = await run();
  expect(replayed).toEqual({
    examined: 2,
    complete: true,
    changed: [
      {
        auditId: deleted,
        at: entry.timestamp,
        action: 'delete',
        resource: 'db:customers',
        was: 'allowed',
        would: 'denied',
        reason: 'NO_PERMISSION',
      },
    ],
  });
});
