import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import {
  openCheckpoint,
  parseKey,
  policyOfKeys,
  verifyConsistency,
  verifyExport,
  verifyProof,
} from '../../verify/index.ts';
import { forgetOldEvents } from '../stream/retention.ts';
import { openSealedLog } from './begin.ts';
import { checkSealedLedger, endRolledBackLog } from './index.ts';

const SEALED = { ledger: { seal: 'on' } } as const;
const permissions = [{ resource: 'db:*', actions: ['read'] }];

let shared: Promise<{ t: TestService; owner: TestUser; admin: TestUser; agent: TestAgent }> | undefined;
/** A sealed service with a few decisions. */
const scene = () =>
  (shared ??= (async () => {
    const t = await createTestService({ lasting: true, config: SEALED });
    const owner = await t.user();
    const agent = await t.agent(owner, { permissions });
    return { t, owner, admin: await t.admin(), agent };
  })());

const policyOf = async (t: TestService) =>
  policyOfKeys((await t.legate.ledger.keys()).keys.map((vkey) => parseKey(vkey)));

/** Makes a decision and returns the id of its entry. */
async function decide(t: TestService, agent: TestAgent): Promise<string> {
  const body = { action: 'read', resource: 'db:x', arguments: { note: 'Grüße\u2028' } };
  const r = await t.authorize(agent, body);
  expect(r.status).toBe(200);
  return r.body.auditId;
}

/** Changes a column of a row, as somebody with access to the database can. */
const tamper = (t: TestService, seq: number, values: Record<string, unknown>) =>
  t.legate.platform.database.write.updateTable('stream_events').set(values).where('seq', '=', seq).execute();

const exported = async (t: TestService, toSeq: number) =>
  (await (await t.legate.ledger.export({ fromSeq: 1, toSeq })).text()).slice(0, -1).split('\n');

describe('a proof', () => {
  it('of a new entry is available immediately, and convinces everyone who has the key', async () => {
    const { t, owner, agent } = await scene();
    const id = await decide(t, agent);
    const r = await t.call('GET', `/audit/${id}/proof`, { as: owner });
    expect([r.status, r.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const { entry, checkpoint } = verifyProof(r.text, await policyOf(t));
    expect(entry).toMatchObject({
      type: 'audit',
      timestamp: t.clock.now(),
      fields: { id, agentId: agent.id, userId: owner.id, action: 'read', resource: 'db:x', result: 'allowed' },
      private: { ip: '192.0.2.1', parameters: '{"note":"Grüße\u2028"}' },
    });
    expect(checkpoint.origin).toMatch(/^localhost:3000\/ledger\/[0-9a-f]{8}$/);
  });

  it('withholds the private fields on request', async () => {
    const { t, owner, agent } = await scene();
    const id = await decide(t, agent);
    const { text } = await t.call('GET', `/audit/${id}/proof?private=withhold`, { as: owner });
    expect(verifyProof(text, await policyOf(t)).entry).not.toHaveProperty('private');
    expect(text).not.toContain(Buffer.from('192.0.2.1').toString('base64').slice(2, -4));
  });

  it('requires the right to read the entry', async () => {
    const { t, agent, admin } = await scene();
    const id = await decide(t, agent);
    const status = async (as?: { token: string }) => (await t.call('GET', `/audit/${id}/proof`, { as })).status;
    expect(await status(await t.user())).toBe(404);
    expect(await status()).toBe(401);
    expect(await status(agent)).toBe(200);
    expect(await status(admin)).toBe(200);
  });

  it('is given to administrators for a row of any type', async () => {
    const { t, owner, admin } = await scene();
    const { text } = await t.call('GET', '/ledger/proof?seq=1', { as: admin });
    const { entry } = verifyProof(text, await policyOf(t));
    expect(entry).toMatchObject({ type: 'ledger.begun', seq: 1, fields: { data: '{"rows":0,"missing":0}' } });
    expect((await t.call('GET', '/ledger/proof?seq=1', { as: owner })).status).toBe(403);
    expect((await t.call('GET', '/ledger/proof?seq=99999', { as: admin })).body.error.code).toBe(
      'LEDGER_ROW_NOT_FOUND',
    );
    expect((await t.call('GET', '/ledger/proof?seq=01', { as: admin })).status).toBe(400);
  });
});

describe('the log over HTTP', () => {
  it('has public tiles from which the signed root can be computed', async () => {
    const { t, admin, agent } = await scene();
    for (let i = 0; i < 4; i++) await Promise.all(Array.from({ length: 65 }, () => decide(t, agent)));
    const id = await decide(t, agent);
    await t.call('GET', `/audit/${id}/proof`, { as: admin });
    const note = (await t.call('GET', '/ledger/checkpoint')).text;
    const { size } = openCheckpoint(note, await policyOf(t));
    expect(size).toBeGreaterThan(256);
    const widths = async (path: string) => {
      const r = await t.legate.fetch(new Request(`http://localhost:3000/ledger/tile/${path}`));
      return r.status === 200 ? (await r.arrayBuffer()).byteLength / 32 : r.status;
    };
    expect(await widths('0/000')).toBe(256);
    expect(await widths('1/000.p/1')).toBe(1);
    expect(await widths(`0/001.p/${size % 256}`)).toBe(size % 256);
    for (const path of ['1/000', '0/002', `0/001.p/${(size % 256) + 1}`, '0/000.p/256', '0/x000/000', '0/0', '00/000'])
      expect(await widths(path)).toBe(404);
    const bundle = await t.call('GET', '/ledger/tile/entries/000', { as: admin });
    expect([bundle.status, bundle.text.includes('ledger.begun')]).toEqual([200, true]);
    expect((await t.call('GET', '/ledger/tile/entries/000')).status).toBe(401);
  });

  it('proves that rows were only appended', async () => {
    const { t, admin, agent } = await scene();
    const old = await t.legate.ledger.checkpoint();
    await t.call('GET', `/audit/${await decide(t, agent)}/proof`, { as: admin });
    const from = openCheckpoint(old, await policyOf(t)).size;
    const answer = await t.call('GET', `/ledger/consistency?from=${from}`);
    const [before, after] = verifyConsistency(old, answer.text, await policyOf(t));
    expect(after.size).toBeGreaterThan(before.size);
    expect((await t.call('GET', `/ledger/consistency?from=5&to=4`)).body.error.code).toBe('INVALID_TREE_RANGE');
  });

  it('can be closed to callers without a credential', async () => {
    const t = await createTestService({ config: { ledger: { seal: 'on', proofs: 'authenticated' } } });
    const user = await t.user();
    expect((await t.call('GET', '/ledger/keys')).status).toBe(401);
    expect((await t.call('GET', '/ledger/keys', { as: user })).status).toBe(200);
  });

  it('reports its progress', async () => {
    const { t, admin } = await scene();
    await t.legate.ledger.proof(1);
    const { body } = await t.call('GET', '/ledger/status', { as: admin });
    expect(body).toMatchObject({ sealing: true, halted: null, origin: expect.stringContaining('/ledger/') });
    expect(body.signedSize).toBeLessThanOrEqual(body.head);
    expect((await t.call('GET', '/metrics', { as: admin })).text).toMatch(/^legate_seal_lag_rows \d+$/m);
  });

  it('does not exist without sealing', async () => {
    const t = await createTestService();
    expect((await t.call('GET', '/ledger/checkpoint')).body.error.code).toBe('LEDGER_NOT_SEALED');
    expect((await t.call('GET', '/ledger/status', { as: await t.admin() })).body.sealing).toBe(false);
  });
});

describe('a row that was changed in the database', () => {
  it('has no proof, is found by a check, and does not affect other rows', async () => {
    const t = await createTestService({ config: SEALED });
    const agent = await t.agent(await t.user(), { permissions });
    const ids = [await decide(t, agent), await decide(t, agent), await decide(t, agent)] as const;
    await t.legate.ledger.proof(ids[2]);
    const { platform, ledger } = t.legate;
    expect(await checkSealedLedger(platform)).not.toHaveProperty('problem');
    const row = await platform.reader.byId(ids[1], 0);
    await tamper(t, row?.seq as number, { result: 'denied' });
    await expect(ledger.proof(ids[1])).rejects.toThrow('differs from what was sealed');
    for (const id of [ids[0], ids[2]]) verifyProof(await ledger.proof(id), await policyOf(t));
    expect(await checkSealedLedger(platform)).toMatchObject({ firstBad: row?.seq });
    await tamper(t, row?.seq as number, { result: 'allowed' });
    expect(await checkSealedLedger(platform)).not.toHaveProperty('problem');
    const tile = { hashes: Buffer.alloc(64, 9) };
    await platform.database.write.updateTable('seal_tiles').set(tile).where('level', '=', 0).execute();
    expect(await checkSealedLedger(platform)).toMatchObject({ firstBad: 1 });
  });
});

describe('an existing ledger', () => {
  it('is sealed from its first row on, and missing rows are recorded as absent', async () => {
    const first = await createTestService();
    const agent = await first.agent(await first.user(), { permissions });
    const id = await decide(first, agent);
    const { database } = first.legate.platform;
    await database.write.deleteFrom('stream_events').where('seq', '=', 1).execute();
    const t = await createTestService({ config: SEALED, sameDatabaseAs: first });
    const policy = await policyOf(t);
    expect(verifyProof(await t.legate.ledger.proof(1), policy).entry).toMatchObject({ type: 'absent', timestamp: 0 });
    const { entry, checkpoint } = verifyProof(await t.legate.ledger.proof(id), policy);
    expect(entry.fields['id']).toBe(id);
    expect(checkpoint.size).toBeGreaterThan(entry.seq);
    const begun = verifyProof(await t.legate.ledger.proof(checkpoint.size), policy).entry;
    expect(JSON.parse(begun.fields['data'] ?? '')).toEqual({ rows: entry.seq - 1, missing: 1 });
    expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
    expect(verifyExport(await exported(t, begun.seq), policy)).toMatchObject({
      unexplained: [],
      sealingChanges: [{ kind: 'begun', seq: begun.seq }],
    });
    // The entry that explains why the first row is missing comes after the range.
    expect(verifyExport(await exported(t, begun.seq - 1), policy)).toMatchObject({
      unexplained: ['1'],
      sealingChanges: [],
    });
  });

  it('records when sealing is switched off and on again', async () => {
    const first = await createTestService({ config: SEALED });
    await first.legate.ledger.proof(1);
    await first.legate.close();
    const off = await createTestService({ sameDatabaseAs: first });
    await off.agent(await off.user());
    await off.agent(await off.user());
    // The row is deleted as retention deletes it: nothing is left that could be sealed afterwards.
    await off.legate.platform.database.write.deleteFrom('stream_events').where('seq', '=', 4).execute();
    await off.legate.close();
    const t = await createTestService({ config: SEALED, sameDatabaseAs: first });
    const rows = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select('type')
      .orderBy('seq')
      .execute();
    expect(rows.map(({ type }) => type)).toEqual(['ledger.begun', 'ledger.stopped', 'agent.created', 'ledger.resumed']);
    expect(verifyProof(await t.legate.ledger.proof(5), await policyOf(t)).entry.type).toBe('ledger.resumed');
    expect(verifyExport(await exported(t, 5), await policyOf(t))).toMatchObject({
      unexplained: [],
      sealingChanges: [{ kind: 'begun' }, { kind: 'stopped', sealed: 1 }, { kind: 'resumed', seq: 5 }],
    });
    expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  });

  it('neither stops nor goes on because of a command with another configuration than the service', async () => {
    const first = await createTestService({ config: SEALED });
    const seal = async (value: 'on' | 'off', serves: boolean) => {
      const t = await createTestService({ sameDatabaseAs: first, serves, config: { ledger: { seal: value } } });
      await t.legate.close();
    };
    const types = async (): Promise<string[]> =>
      (await first.legate.platform.database.read.selectFrom('stream_events').select('type').orderBy('seq').execute())
        .map(({ type }) => type)
        .filter((type) => type !== 'ledger.begun');
    await seal('off', false);
    expect(await types()).toEqual([]);
    await seal('off', true);
    await seal('on', false);
    expect(await types()).toEqual(['ledger.stopped']);
    await seal('on', true);
    expect(await types()).toEqual(['ledger.stopped', 'ledger.resumed']);
  });

  it('is not begun by a command, which may run before the keys of the service are in place', async () => {
    const command = await createTestService({ serves: false, config: SEALED });
    expect(await checkSealedLedger(command.legate.platform)).toMatchObject({
      problem: expect.stringContaining('no signed checkpoint yet'),
    });
    await expect(command.legate.ledger.keys()).rejects.toThrow('no checkpoint has been signed yet');
    expect(await command.legate.platform.database.read.selectFrom('seal').select('log_id').execute()).toEqual([]);
    expect(existsSync(join(command.database.dir, 'ledger-anchor'))).toBe(false);
    const service = await createTestService({ sameDatabaseAs: command, config: SEALED });
    await service.legate.ledger.proof(
      await decide(service, await service.agent(await service.user(), { permissions })),
    );
    expect(await checkSealedLedger(service.legate.platform)).not.toHaveProperty('problem');
  });

  it('is opened by a command although the service signs a tree meanwhile', async () => {
    const first = await createTestService({ config: SEALED });
    const agent = await first.agent(await first.user(), { permissions });
    await first.legate.ledger.proof(await decide(first, agent));
    const { platform } = (await createTestService({ sameDatabaseAs: first, serves: false })).legate;
    let signed = 0;
    const read = platform.database.read.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        if (signed++ < 3) await first.legate.ledger.proof(await decide(first, agent));
        return result;
      },
    });
    await openSealedLog({
      ...platform,
      config: { ...platform.config, ...first.legate.platform.config },
      database: { ...platform.database, read },
    });
    expect(signed).toBeGreaterThan(3);
  });
});

describe('retention', () => {
  it('keeps number, type and time of deleted events provable, and deletes no row that was changed', async () => {
    const t = await createTestService({ config: SEALED });
    const agent = await t.agent(await t.user(), { permissions });
    const id = await decide(t, agent);
    await t.legate.ledger.proof(id);
    const before = verifyProof(await t.legate.ledger.proof(2), await policyOf(t)).entry;
    expect(before.private).toMatchObject({ agentId: agent.id });
    t.clock.advance(31 * DAY_MS);
    await tamper(t, 2, { data: '{}' });
    await expect(forgetOldEvents(t.legate.platform)).rejects.toThrow('Row 2 of the ledger differs');
    await tamper(t, 2, { data: before.private?.['data'] });
    await forgetOldEvents(t.legate.platform);
    const { entry } = verifyProof(await t.legate.ledger.proof(2), await policyOf(t));
    const { private: _, ...left } = before;
    expect(entry).toEqual(left);
    expect(verifyProof(await t.legate.ledger.proof(id), await policyOf(t)).entry.fields['id']).toBe(id);
    expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  });
});

describe('a rolled-back database', () => {
  it('prevents the start until the operator ends the log, and is then sealed again', async () => {
    const first = await createTestService({ config: SEALED });
    const agent = await first.agent(await first.user(), { permissions });
    await first.legate.ledger.proof(await decide(first, agent));
    const { origin } = await first.legate.ledger.keys();
    const anchor = join(first.database.dir, 'ledger-anchor');
    await first.legate.close();
    const note = readFileSync(anchor, 'utf8');
    const again = () => createTestService({ config: SEALED, sameDatabaseAs: first });
    const reopened = await createTestService({ sameDatabaseAs: first });
    await reopened.legate.platform.database.write.updateTable('seal').set({ signed_size: 1 }).execute();
    await expect(again()).rejects.toThrow(/was rolled back.*legate ledger recover/s);
    await reopened.legate.platform.database.write.updateTable('seal').set({ signed_size: 99 }).execute();
    writeFileSync(anchor, note.replace(/\n\d+\n/, '\n1\n'));
    await expect(again()).rejects.toThrow(/does not belong to the log/);
    writeFileSync(anchor, note);
    expect(await endRolledBackLog(reopened.legate.platform.database, first.database.dir, 0)).toMatchObject({ origin });
    const t = await again();
    const { keys } = await t.legate.ledger.keys();
    const logs = await t.legate.ledger.logs();
    expect(logs.map((log) => log.origin)).toEqual([keys[0]?.split('+')[0], origin]);
    expect(logs[0]?.origin).not.toBe(origin);
    const rows = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select('data')
      .where('type', '=', 'ledger.restored')
      .execute();
    expect(JSON.parse(rows[0]?.data ?? '')).toMatchObject({ origin, size: Number(note.split('\n')[1]) });
    verifyProof(await t.legate.ledger.proof(2), await policyOf(t));
  });
});
