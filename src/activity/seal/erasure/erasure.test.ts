import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { signUp } from '../../../../test/support/oauth.ts';
import {
  createTestService,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../../test/support/service.ts';
import { ownQueue } from '../../../../test/support/webhook-queue.ts';
import { SYSTEM } from '../../../access/actor.ts';
import { DAY_MS } from '../../../kernel/clock.ts';
import { TABLE_NAMES } from '../../../storage/tables.ts';
import { parseKey, policyOfKeys, verifyExport, verifyProof } from '../../../verify/index.ts';
import { checkSealedLedger } from '../index.ts';

const permissions = [
  { resource: 'db:*', actions: ['read'] },
  { resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } },
];
const NOTE = 'Rue des Lilas 7';
const IP = '198.51.100.77';

interface Scene {
  readonly t: TestService;
  readonly owner: TestUser;
  readonly admin: TestUser;
  readonly agent: TestAgent;
}

async function createScene(config = {}, lasting = false): Promise<Scene> {
  const t = await createTestService({ lasting, config: { ledger: { seal: 'on' }, ...config } });
  const owner = await t.user();
  return { t, owner, admin: await t.admin(), agent: await t.agent(owner, { permissions }) };
}

async function decide({ t, agent }: Pick<Scene, 't' | 'agent'>, note = NOTE): Promise<string> {
  const body = { action: 'read', resource: 'db:x', arguments: { note } };
  const r = await t.call('POST', '/authorize', { as: agent, body, ip: IP });
  expect(r.status).toBe(200);
  return r.body.auditId;
}

const erase = ({ t, admin }: Scene, body: object, as: { token: string } = admin) =>
  t.call('POST', '/audit/erasures', { as, body });

const policyOf = async (t: TestService) => policyOfKeys((await t.legate.ledger.keys()).keys.map(parseKey));
const seqOf = async ({ t, admin }: Scene, id: string): Promise<number> =>
  (await t.call('GET', `/audit/${id}`, { as: admin })).body.seq;
const exported = async (t: TestService) => (await (await t.legate.ledger.export({})).text()).slice(0, -1).split('\n');
const isWhole = async (t: TestService) => (await checkSealedLedger(t.legate.platform)).problem;

/** Returns the content of the database, by table. */
async function tables({ legate }: TestService, without: readonly string[] = []): Promise<Record<string, unknown[]>> {
  const { read } = legate.platform.database;
  const names = TABLE_NAMES.filter((name) => !without.includes(name));
  const rows = names.map(async (name) => [name, await read.selectFrom(name).selectAll().execute()]);
  return Object.fromEntries(await Promise.all(rows));
}

const dump = async (t: TestService): Promise<string> => JSON.stringify(await tables(t));

/** Returns the files of an embedded database, including its log. */
const files = ({ database: { dir } }: TestService): string =>
  readdirSync(dir)
    .filter((name) => name.includes('.db'))
    .map((name) => readFileSync(join(dir, name), 'latin1'))
    .join('');

describe('POST /audit/erasures', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await createScene({}, true);
  });

  it('erases parameters, address and user agent; subject, action, result and time can still be proven', async () => {
    const { t, admin, owner, agent } = scene;
    const [id, kept] = [await decide(scene), await decide(scene, 'other')];
    const before = verifyProof((await t.call('GET', `/audit/${id}/proof`, { as: owner })).text, await policyOf(t));
    const r = await erase(scene, { auditIds: [id], reason: 'request 17' });
    expect([r.status, r.body]).toEqual([
      200,
      { erased: 1, recordedAs: [expect.any(Number)], outOfReach: expect.stringContaining('Backups') },
    ]);
    expect((await t.call('GET', `/audit/${id}`, { as: owner })).body).toMatchObject({
      erased: true,
      parameters: {},
      ip: null,
      userAgent: null,
      agentId: agent.id,
      resource: 'db:x',
      result: 'allowed',
      permission: { resource: 'db:*' },
    });
    const policy = await policyOf(t);
    const after = verifyProof((await t.call('GET', `/audit/${id}/proof`, { as: owner })).text, policy).entry;
    expect(after).not.toHaveProperty('private');
    expect(after).toEqual({ ...before.entry, private: undefined });
    const others = verifyProof((await t.call('GET', `/audit/${kept}/proof`, { as: owner })).text, policy).entry;
    expect(others.private).toMatchObject({ parameters: '{"note":"other"}' });

    const record = await t.call('GET', `/ledger/proof?seq=${r.body.recordedAs}`, { as: admin });
    expect(verifyProof(record.text, policy).entry).toMatchObject({
      type: 'audit.erased',
      fields: { what: 'private', seqs: `${await seqOf(scene, id)}` },
    });
    const events = await t.call('GET', '/events?types=audit.erased', { as: admin });
    expect(events.body[0]).toMatchObject({ data: { erased: 1 }, actor: { userId: admin.id, reason: 'request 17' } });
    expect((await t.call('GET', '/events?types=audit.erased', { as: owner })).body).toEqual([]);

    const proven = verifyExport(await exported(t), policy);
    expect(proven).toMatchObject({ complete: true, withheld: 1, unexplained: [] });
    expect(await isWhole(t)).toBeUndefined();
    expect((await erase(scene, { auditIds: [id] })).body).toMatchObject({ erased: 0, recordedAs: [] });
  });

  it('erases the salt for good, although the sealer has it in memory', async () => {
    const { t } = scene;
    const id = await decide(scene);
    await t.legate.ledger.proof(id);
    const seq = await seqOf(scene, id);
    await erase(scene, { auditIds: [id] });
    await t.legate.ledger.proof(await decide(scene));
    const { salts } = await t.legate.platform.database.read
      .selectFrom('seal_tiles')
      .select('salts')
      .where('level', '=', 0)
      .where('tile', '=', Math.floor((seq - 1) / 256))
      .executeTakeFirstOrThrow();
    const at = ((seq - 1) % 256) * 16;
    expect(Buffer.from(salts as Uint8Array).subarray(at, at + 16)).toEqual(Buffer.alloc(16));
    expect(await isWhole(t)).toBeUndefined();
  });

  it('erases copies in approvals and webhook deliveries, and the index by address', async () => {
    const { t, agent, owner, admin } = scene;
    const webhook = await t.call('POST', '/webhooks', { as: owner, body: { url: 'https://hooks.example/x' } });
    const body = { action: 'pay', resource: 'bank:x', arguments: { note: 'secret purpose' } };
    const { auditId, approvalId } = (await t.call('POST', '/authorize', { as: agent, body, ip: '198.51.100.78' })).body;
    const found = async () =>
      (await t.call('GET', '/audit?ip=198.51.100.78', { as: admin })).body.map(({ id }: { id: string }) => id);
    expect(await found()).toEqual([auditId]);
    await t.legate.platform.background.idle();
    await erase(scene, { auditIds: [auditId] });
    expect(await found()).toEqual([]);
    const facets = await t.call('GET', '/audit/facets?by=ip', { as: admin });
    expect(facets.text).not.toContain('198.51.100.78');
    expect((await t.call('GET', `/approvals/${approvalId}`, { as: owner })).body.arguments).toEqual({});
    expect(await dump(t)).not.toContain('secret purpose');
    await t.call('DELETE', `/webhooks/${webhook.body.id}`, { as: owner });
  });

  it('erases what is read for webhooks at the same time', async () => {
    const { t, owner } = scene;
    const webhook = await t.call('POST', '/webhooks', { as: owner, body: { url: 'https://hooks.example/x' } });
    let id: string | undefined;
    let status: number | undefined;
    const run = ownQueue(t, async () => {
      if (id !== undefined && status === undefined) {
        status = 0;
        ({ status } = await erase(scene, { auditIds: [id] }));
      }
    });
    await run();
    id = await decide(scene, 'on its way to a webhook');
    await run();
    expect(status).toBe(200);
    expect(await dump(t)).not.toContain('on its way to a webhook');
    await t.call('DELETE', `/webhooks/${webhook.body.id}`, { as: owner });
  });

  it('selects by user, agent and time, which must all match', async () => {
    const { t, owner } = scene;
    const other = { t, agent: await t.agent(owner, { permissions }) };
    const [first, second] = [await decide(other), await decide(scene)];
    const before = new Date(t.clock.now() + 1).toISOString();
    t.clock.advance(1000);
    const later = await decide(other);
    expect((await erase(scene, { userId: owner.id, agentId: other.agent.id, before })).body.erased).toBe(1);
    const erased = async (id: string) => (await t.call('GET', `/audit/${id}`, { as: owner })).body.erased;
    expect([await erased(first), await erased(second), await erased(later)]).toEqual([true, undefined, undefined]);
    expect((await erase(scene, { userId: 'nobody' })).body.erased).toBe(0);
    expect((await t.legate.ledger.erase({ agentId: other.agent.id })).erased).toBe(1);
  });

  it('is for administrators', async () => {
    const { t, owner, agent } = scene;
    const auditIds = [await decide(scene)];
    expect((await erase(scene, { auditIds }, owner)).status).toBe(403);
    expect((await erase(scene, { auditIds }, agent)).status).toBe(403);
    expect((await erase(scene, { auditIds }, await t.user({ role: 'auditor' }))).status).toBe(403);
    expect((await t.call('POST', '/audit/erasures', { body: { auditIds } })).status).toBe(401);
  });

  it('names the field of wrong input', async () => {
    const wrong = async (body: object) => {
      const r = await erase(scene, body);
      return [r.status, r.body.error.code, r.body.error.details?.issues?.[0]?.path];
    };
    expect(await wrong({})).toEqual([400, 'VALIDATION_FAILED', 'auditIds']);
    expect(await wrong({ what: 'private' })).toEqual([400, 'VALIDATION_FAILED', 'auditIds']);
    expect(await wrong({ auditIds: [] })).toEqual([400, 'VALIDATION_FAILED', 'auditIds']);
    expect(await wrong({ auditIds: ['x'] })).toEqual([400, 'VALIDATION_FAILED', 'auditIds.0']);
    expect(await wrong({ before: 'soon' })).toEqual([400, 'VALIDATION_FAILED', 'before']);
    expect(await wrong({ userId: 'x', what: 'all' })).toEqual([400, 'VALIDATION_FAILED', 'what']);
    expect(await wrong({ user: 'x' })).toEqual([400, 'VALIDATION_FAILED', expect.anything()]);
    expect(await wrong({ userId: 'x', what: 'entry' })).toEqual([403, 'ENTRY_ERASURE_OFF', undefined]);
  });

  it('previews without any effect', async () => {
    const { t, admin } = scene;
    // Refusals of earlier tests are recorded in the background.
    await t.legate.platform.background.idle();
    const id = await decide(scene);
    await t.legate.platform.background.idle();
    await t.legate.ledger.proof(id);
    // Upkeep, the sealer and other followers of the ledger write rows to these tables in between.
    const moving = [
      'changes',
      'change_subjects',
      'instances',
      'leases',
      'projections',
      'seal',
      'seal_checkpoints',
      'agent_activity',
      'decision_slots',
    ];
    const before = await tables(t, moving);
    const r = await t.call('POST', '/audit/erasures?preview=true', { as: admin, body: { auditIds: [id] } });
    expect([r.status, r.body.events]).toEqual([
      200,
      [expect.objectContaining({ type: 'audit.erased', data: expect.objectContaining({ erased: 1, of: 1 }) })],
    ]);
    const none = await t.call('POST', '/audit/erasures?preview=true', { as: admin, body: { userId: 'nobody' } });
    expect([none.status, none.body.events]).toEqual([200, []]);
    expect(await tables(t, moving)).toEqual(before);
  });
});

it('erases complete entries where that is allowed, and their former existence can still be proven', async () => {
  const scene = await createScene({ audit: { eraseEntries: true } });
  const { t, admin } = scene;
  const ids = [await decide(scene), await decide(scene), await decide(scene)];
  const seq = await seqOf(scene, ids[1] as string);
  await erase(scene, { auditIds: [ids[0]] });
  expect((await erase(scene, { auditIds: ids.slice(0, 2), what: 'entry' })).body.erased).toBe(2);
  expect((await t.call('GET', `/audit/${ids[1]}`, { as: admin })).status).toBe(404);
  expect((await t.call('GET', `/ledger/proof?seq=${seq}`, { as: admin })).status).toBe(404);
  expect((await t.call('GET', '/audit/facets?by=resource', { as: admin })).body).toMatchObject({ total: 1 });
  const policy = await policyOf(t);
  const lines = await exported(t);
  expect(lines.filter((line) => line.startsWith('{"hash"'))).toHaveLength(2);
  const proven = verifyExport(lines, policy);
  expect(proven).toMatchObject({ complete: true, explained: 2, unexplained: [] });
  expect(await isWhole(t)).toBeUndefined();

  // A row that somebody deletes is reported as unexplained, even if the server claims that it was erased.
  const last = await seqOf(scene, ids[2] as string);
  const { write } = t.legate.platform.database;
  await write.deleteFrom('stream_events').where('seq', '=', last).execute();
  await write
    .insertInto('seal_remains')
    .values({ seq: last, type: 'audit', timestamp: 1, digest: '', erased_by: last + 3 })
    .execute();
  expect(verifyExport(await exported(t), policy).unexplained).toEqual([`${last}`]);
  expect(await isWhole(t)).toBe(`row ${last} differs from what was sealed`);
});

it('does not erase a row that differs from the sealed one, because it is evidence', async () => {
  const scene = await createScene();
  const { t, admin } = scene;
  const id = await decide(scene);
  await t.legate.ledger.proof(id);
  const { write } = t.legate.platform.database;
  await write.updateTable('stream_events').set({ result: 'denied' }).where('id', '=', id).execute();
  const r = await erase(scene, { auditIds: [id] });
  expect([r.status, r.body.error.code]).toEqual([409, 'SEALED_ROW_DIFFERS']);
  expect((await t.call('GET', `/audit/${id}`, { as: admin })).body).toMatchObject({ parameters: { note: NOTE } });
  expect((await t.call('GET', '/events?types=audit.erased', { as: admin })).body).toEqual([]);
});

it('makes another instance drop erased data from its streams and its index', async () => {
  const scene = await createScene();
  const { t, admin } = scene;
  const other = await createTestService({ sameDatabaseAs: t, config: { ledger: { seal: 'on' } } });
  const id = await decide({ t: other, agent: scene.agent });
  const found = async () => (await other.call('GET', `/audit?ip=${IP}`, { as: admin })).body.length;
  expect(await found()).toBe(1);
  expect((await erase(scene, { auditIds: [id] })).body.erased).toBe(1);
  expect(await found()).toBe(0);
});

it('erases in a ledger that is not sealed, which can be sealed afterwards', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const scene = { t, owner, admin: await t.admin(), agent: await t.agent(owner, { permissions }) };
  const id = await decide(scene);
  expect((await erase(scene, { auditIds: [id] })).body.erased).toBe(1);
  expect(await dump(t)).not.toContain(NOTE);
  const sealed = await createTestService({ sameDatabaseAs: t, config: { ledger: { seal: 'on' } } });
  await sealed.legate.ledger.proof(1);
  expect(await isWhole(sealed)).toBeUndefined();
});

describe('DELETE /users/:id?erase=true', () => {
  it('removes all data of the person from the database, and all proofs stay valid', async () => {
    const scene = await createScene();
    const { t, admin } = scene;
    const person = await signUp(t);
    await t.call('POST', '/invites', { as: admin, body: { email: person.email } });
    await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { name: 'Ada Countess' } });
    await t.call('POST', '/sign-in', { body: { email: person.email, password: 'wrong' }, ip: IP });
    const agent = await t.agent(person, { permissions, metadata: { desk: 'third floor' } });
    await t.call('PATCH', `/agents/${agent.id}`, { as: person, body: { name: 'x' }, ip: IP });
    await t.call('POST', '/webhooks', { as: person, body: { url: 'https://hooks.example/x' } });
    const kept = await decide(scene, 'kept');
    const id = await decide({ t, agent });
    await t.legate.platform.background.idle();
    await t.legate.ledger.proof(id);
    const secrets = [person.email, 'Ada Countess', 'third floor', 'hooks.example', NOTE];
    const before = await dump(t);
    for (const secret of secrets) expect(before).toContain(secret);

    const r = await t.call('DELETE', `/users/${person.id}?erase=true&reason=asked`, { as: admin });
    expect(r.status).toBe(200);
    expect(r.body.erased).toBeGreaterThan(5);
    const after = await dump(t);
    for (const secret of secrets) expect(after).not.toContain(secret);
    const { dialect } = t.legate.platform.database;
    if (dialect === 'sqlite') expect(secrets.filter((secret) => files(t).includes(secret))).toEqual([]);
    // The one address that is left belongs to a decision of somebody else.
    expect([before.split(IP).length - 1 > 3, after.split(IP).length - 1]).toEqual([true, 1]);
    const audited = await t.call('GET', `/audit/${id}`, { as: admin });
    expect(audited.body).toMatchObject({ erased: true, userId: person.id, agentId: agent.id, result: 'allowed' });
    const policy = await policyOf(t);
    verifyProof((await t.call('GET', `/audit/${id}/proof`, { as: admin })).text, policy);
    expect((await t.call('GET', `/audit/${kept}`, { as: admin })).body.parameters).toEqual({ note: 'kept' });
    expect(verifyExport(await exported(t), policy)).toMatchObject({ complete: true, unexplained: [] });
    expect(await isWhole(t)).toBeUndefined();

    // A second run finds only entries that an earlier run has left.
    const again = await t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin });
    expect([again.status, again.body.erased]).toEqual([200, 0]);
    expect((await t.call('DELETE', '/users/usr_nobody?erase=true', { as: admin })).status).toBe(404);
    expect((await t.call('DELETE', `/users/${person.id}?erase=yes`, { as: admin })).status).toBe(400);
  });

  it('requires an administrator; all administrators except the last one can erase themselves', async () => {
    const t = await createTestService();
    const [admin, other, user] = [await t.admin(), await t.admin(), await t.user()];
    expect((await t.call('DELETE', `/users/${other.id}?erase=true`, { as: user })).status).toBe(403);
    expect((await t.call('DELETE', `/users/${other.id}?erase=true`, { as: other })).status).toBe(200);
    const last = await t.call('DELETE', `/users/${admin.id}?erase=true`, { as: admin });
    expect(last.body.error.code).toBe('LAST_ADMIN');
    const preview = await t.call('DELETE', `/users/${user.id}?erase=true&preview=true`, { as: admin });
    expect(preview.body).toMatchObject({ preview: true });
    expect((await t.call('GET', `/users/${user.id}`, { as: admin })).status).toBe(200);
    expect((await t.legate.users.erase(user.id)).erased).toBeGreaterThanOrEqual(0);
    expect((await t.call('GET', `/users/${user.id}`, { as: admin })).status).toBe(404);
  });
});

it('entries before a time are erased also after the clock was set back', async () => {
  const scene = await createScene();
  const { t } = scene;
  await decide(scene);
  t.clock.advance(400 * DAY_MS);
  for (let i = 0; i < 20; i++) await decide(scene);
  t.clock.advance(-400 * DAY_MS);
  await t.legate.platform.ledger.resetClock(SYSTEM);
  await decide(scene);
  t.clock.advance(DAY_MS);
  const { body } = await erase(scene, { before: new Date(t.clock.now()).toISOString() });
  expect(body.erased).toBe(22);
});
