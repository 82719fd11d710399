import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTestService, type TestAgent, type TestService } from '../../../test/support/service.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { parseKey, policyOfKeys, verifyConsistency, verifyProof } from '../../verify/index.ts';
import { checkSealedLedger } from './index.ts';
import { sealer } from './sealer.ts';

const SEALED = { ledger: { seal: 'on' } } as const;
const permissions = [{ resource: 'db:*', actions: ['read'] }];

async function createScene() {
  const t = await createTestService({ config: SEALED });
  const agent = await t.agent(await t.user(), { permissions });
  return { t, agent, admin: await t.admin() };
}

async function decide(t: TestService, agent: TestAgent): Promise<string> {
  const r = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  expect([r.status, r.body.allowed]).toEqual([200, true]);
  return r.body.auditId;
}

const readyOf = async (t: TestService) => {
  const { status, body } = await t.call('GET', '/health/ready');
  return [status, body.status, body.checks.seal];
};
const policyOf = async (t: TestService) => policyOfKeys((await t.legate.ledger.keys()).keys.map(parseKey));

it('a failing sealer stops no decision; metrics and readiness report it, and it recovers by itself', async () => {
  const { t, agent, admin } = await createScene();
  const { write } = t.legate.platform.database;
  await t.legate.ledger.proof(await decide(t, agent));
  expect(await readyOf(t)).toEqual([200, 'ready', 'ok']);
  const rename = (from: string, to: string) => write.schema.alterTable(from).renameTo(to).execute();
  await rename('seal_tiles', 'seal_tiles_away');
  const id = await decide(t, agent);
  expect((await t.call('GET', `/audit/${id}/proof`, { as: admin })).status).toBe(500);
  t.clock.advance(2 * MINUTE_MS);
  const last = await decide(t, agent);
  expect((await t.call('GET', `/audit/${last}`, { as: admin })).body.id).toBe(last);
  expect(await readyOf(t)).toEqual([200, 'degraded', 'behind']);
  const metrics = (await t.call('GET', '/metrics', { as: admin })).text;
  const gauge = (name: string) => Number(new RegExp(`^legate_seal_${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  expect([gauge('lag_rows') >= 2, gauge('lag_seconds')]).toEqual([true, 120]);
  await rename('seal_tiles_away', 'seal_tiles');
  for (const each of [id, last])
    expect(verifyProof(await t.legate.ledger.proof(each), await policyOf(t)).entry.fields['id']).toBe(each);
  expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  expect(await readyOf(t)).toEqual([200, 'ready', 'ok']);
  await t.legate.platform.stateOf(sealer).haltForGood('a test');
  await decide(t, agent);
  expect(await readyOf(t)).toEqual([200, 'degraded', 'halted']);
});

it('rows of a commit with an unknown outcome are served only after they were read again', async () => {
  const { t, agent } = await createScene();
  const { platform, ledger } = t.legate;
  const anchor = () => readFileSync(join(t.database.dir, 'ledger-anchor'), 'utf8');
  await ledger.proof(await decide(t, agent));
  const { maintain } = platform.ledger;
  const policy = await policyOf(t);
  for (let round = 0; round < 2; round++) {
    const before = anchor();
    // Every commit succeeds but its response is lost: first the commit of tiles, then that of a checkpoint over them.
    platform.ledger.maintain = async (work) => {
      await maintain.call(platform.ledger, work);
      throw new Error('the connection was cut');
    };
    const id = await decide(t, agent);
    for (let lost = 0; lost < 3; lost++) await expect(platform.stateOf(sealer).signNow()).rejects.toThrow('was cut');
    expect(anchor()).toBe(before);
    platform.ledger.maintain = maintain;
    expect(verifyProof(await ledger.proof(id), policy).entry.fields['id']).toBe(id);
    verifyConsistency(before, JSON.stringify(await ledger.consistency(Number(before.split('\n')[1]))), policy);
    expect(anchor()).toBe(await ledger.checkpoint());
  }
  expect(await checkSealedLedger(platform)).not.toHaveProperty('problem');
});

it('while the data folder cannot be written to, checkpoints are 503, and no parts of files remain there', async () => {
  const { t, agent, admin } = await createScene();
  const person = await t.user();
  const { dir } = t.database;
  const anchor = join(dir, 'ledger-anchor');
  const earlier = await decide(t, agent);
  await t.legate.ledger.proof(earlier);
  rmSync(anchor);
  // A file cannot replace a folder.
  mkdirSync(join(anchor, 'in-the-way'), { recursive: true });
  const id = await decide(t, agent);
  for (const [method, path] of [
    ['GET', `/audit/${id}/proof`],
    ['GET', '/ledger/checkpoint'],
    ['GET', '/audit/export?format=sealed&fromSeq=1'],
    ['DELETE', `/users/${person.id}?erase=true`],
  ] as const) {
    const { status, body } = await t.call(method, path, { as: admin });
    expect([path, status, body.error]).toEqual([
      path,
      503,
      {
        code: 'STORAGE_UNAVAILABLE',
        message: expect.stringMatching(/checkpoint cannot be written to the data folder/),
      },
    ]);
  }
  expect(readdirSync(dir).filter((name) => name.startsWith('ledger-anchor'))).toEqual(['ledger-anchor']);
  expect(await readyOf(t)).toEqual([200, 'degraded', 'behind']);
  rmSync(anchor, { recursive: true });
  expect((await t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin })).status).toBe(200);
  expect(verifyProof(await t.legate.ledger.proof(id), await policyOf(t)).entry.fields['id']).toBe(id);
  expect(readFileSync(anchor, 'utf8')).toBe(await t.legate.ledger.checkpoint());
  expect(await readyOf(t)).toEqual([200, 'ready', 'ok']);
});
