import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { listen } from '../../http/node.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { parseKey, policyOfKeys, Refuted, runVerify, verifyExport } from '../../verify/index.ts';

let shared: Promise<{ t: TestService; owner: TestUser; admin: TestUser; agent: TestAgent; last: number }> | undefined;
/** A sealed service with decisions of two agents, a minute apart. */
const scene = () =>
  (shared ??= (async () => {
    const t = await createTestService({ lasting: true, config: { ledger: { seal: 'on' } } });
    const owner = await t.user();
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const agent = await t.agent(owner, { permissions });
    const other = await t.agent(await t.user(), { permissions });
    for (let i = 0; i < 6; i++) {
      t.clock.advance(MINUTE_MS);
      expect((await t.authorize(i % 2 ? other : agent, { action: 'read', resource: 'db:x' })).status).toBe(200);
    }
    const admin = await t.admin();
    return { t, owner, admin, agent, last: (await t.legate.ledger.status()).head };
  })());

const policyOf = async (t: TestService) => policyOfKeys((await t.legate.ledger.keys()).keys.map(parseKey));
const linesOf = (text: string): string[] => text.slice(0, -1).split('\n');

/** Returns the lines of an export that is read in process. */
async function exported(t: TestService, options: Parameters<TestService['legate']['ledger']['export']>[0]) {
  return linesOf(await (await t.legate.ledger.export(options)).text());
}

describe('a sealed export of a range', () => {
  it('proves that no row of the range is missing, for every range', async () => {
    const { t, last } = await scene();
    const policy = await policyOf(t);
    for (let fromSeq = 1; fromSeq <= last; fromSeq++)
      for (let toSeq = fromSeq; toSeq <= last; toSeq++) {
        const proven = verifyExport(await exported(t, { fromSeq, toSeq }), policy);
        expect(proven).toMatchObject({ from: fromSeq, to: toSeq, complete: true, entries: toSeq - fromSeq + 1 });
      }
  });

  it('is refuted after any change', async () => {
    const { t, last } = await scene();
    const policy = await policyOf(t);
    const good = await exported(t, { fromSeq: 3, toSeq: last - 1 });
    const other = await exported(t, { fromSeq: 1, toSeq: last });
    const [head = '', ...rest] = good;
    const rows = rest.slice(0, -1);
    const end = rest.at(-1) as string;
    const { left, right, checkpoint } = JSON.parse(end);
    const foreign = (other[1] as string).replace('ledger.begun\\u00001\\u0000', 'ledger.begun\\u00003\\u0000');
    const forged: Record<string, string[]> = {
      'a missing row': [head, ...rows.slice(1), end],
      'a missing row and a changed range': [head.replace('"from":3', '"from":4'), ...rows.slice(1), end],
      'a missing last row': [head, ...rows.slice(0, -1), end],
      'a missing end': [head, ...rows],
      'rows swapped': [head, rows[1] as string, rows[0] as string, ...rows.slice(2), end],
      'a repeated row': [head, rows[0] as string, ...rows, end],
      'a foreign row': [head, foreign, ...rows.slice(1), end],
      'a changed row': [head, (rows[0] as string).replace('agent.created', 'agent.updated'), ...rows.slice(1), end],
      'a forged hash': [head, JSON.stringify({ hash: Buffer.alloc(32).toString('base64') }), ...rows.slice(1), end],
      'a missing hash on the left': [head, ...rows, JSON.stringify({ left: left.slice(1), right, checkpoint })],
      'an additional hash': [
        head,
        ...rows,
        JSON.stringify({ left, right: [...right, ...right, right[0]], checkpoint }),
      ],
      'another range': [head.replace(`"to":${last - 1}`, `"to":${last}`), ...rows, end],
      'another log': [head.replace('"origin":"', '"origin":"x'), ...rows, end],
      'an additional member': [head, ...rows, end.replace('{', '{"more":1,')],
      spaces: [head, ...rows, end.replace(':', ': ')],
    };
    verifyExport(good, policy);
    for (const [name, lines] of Object.entries(forged)) {
      expect(lines, name).not.toEqual(good);
      expect(() => verifyExport(lines, policy), name).toThrow(Refuted);
    }
  });

  it('reports a row that was deleted or changed as unexplained', async () => {
    const t = await createTestService({ config: { ledger: { seal: 'on' } } });
    await t.agent(await t.user());
    await t.legate.ledger.proof(2);
    const tamper = t.legate.platform.database.write.updateTable('stream_events').set({ data: '{}' });
    await tamper.where('seq', '=', 2).execute();
    const lines = await exported(t, { fromSeq: 1, toSeq: 2 });
    expect(Object.keys(JSON.parse(lines[2] as string))).toEqual(['hash']);
    expect(verifyExport(lines, await policyOf(t))).toMatchObject({ entries: 1, unexplained: ['2'] });
  });

  it('by time includes the row before and the row after the range', async () => {
    const { t, admin, last } = await scene();
    const rows = (await t.legate.audit.query({ order: 'asc' })).entries;
    const [, second, third] = rows;
    const query = new URLSearchParams({ since: second?.timestamp as string, until: third?.timestamp as string });
    const r = await t.call('GET', `/audit/export?format=sealed&${query}`, { as: admin });
    expect([r.status, r.headers.get('content-type')]).toEqual([200, 'application/x-ndjson; charset=utf-8']);
    const proven = verifyExport(linesOf(r.text), await policyOf(t));
    expect(proven).toMatchObject({ complete: true, from: (second?.seq as number) - 1, to: third?.seq });
    expect(proven.to).toBeLessThan(last);
  });
});

describe('a sealed export with filters', () => {
  it('proves each entry, for callers who may read it, and states that entries may be missing', async () => {
    const { t, owner, admin, agent } = await scene();
    const policy = await policyOf(t);
    const { text } = await t.call('GET', '/audit/export?format=sealed', { as: owner });
    const lines = linesOf(text);
    expect(JSON.parse(lines[0] as string)).toMatchObject({ complete: false, note: expect.stringContaining('missing') });
    expect(verifyExport(lines, policy)).toMatchObject({ complete: false, entries: 3, unexplained: [] });
    expect(text).not.toContain('agent.created');
    const filtered = await t.call('GET', `/audit/export?format=sealed&agentId=${agent.id}`, { as: admin });
    expect(verifyExport(linesOf(filtered.text), policy)).toMatchObject({ complete: false, entries: 3 });
    const seqs = (await t.legate.audit.query({ order: 'asc' })).entries.map(({ seq }) => seq);
    const some = `fromSeq=${seqs[1]}&toSeq=${seqs[4]}`;
    const narrowed = await t.call('GET', `/audit/export?format=sealed&action=read&${some}`, { as: admin });
    expect(verifyExport(linesOf(narrowed.text), policy)).toMatchObject({ complete: false, entries: 4 });
    expect((await t.call('GET', `/audit/export?format=json&${some}`, { as: admin })).body).toHaveLength(4);
    const [head = '', first = '', second = '', ...rest] = lines;
    verifyExport([head, second, ...rest], policy);
    for (const forged of [
      [head, second, first, ...rest],
      [head, first.replace('read', 'rite'), second, ...rest],
      [head.replace('false', 'true').replace(/,"note":"[^"]*"/, ''), first, second, ...rest],
      [head, first.replace(/"index":\d+/, '"index":0'), second, ...rest],
    ])
      expect(() => verifyExport(forged, policy)).toThrow(Refuted);
  });

  it('is refused for a range of others, for an impossible range, and without sealing', async () => {
    const { t, owner, admin, agent, last } = await scene();
    const code = async (query: string, as: { token: string } = admin) => {
      const { status, body } = await t.call('GET', `/audit/export?format=sealed&${query}`, { as });
      return [status, body.error.code];
    };
    expect(await code('fromSeq=1&toSeq=2', owner)).toEqual([403, 'FORBIDDEN']);
    expect(await code('toSeq=2', agent)).toEqual([403, 'FORBIDDEN']);
    expect(await code('fromSeq=3&toSeq=2')).toEqual([400, 'INVALID_TREE_RANGE']);
    expect(await code(`toSeq=${last + 100}`)).toEqual([400, 'INVALID_TREE_RANGE']);
    for (const query of ['fromSeq=0', 'toSeq=01', 'order=desc']) expect((await code(query))[0]).toBe(400);
    const unsealed = await createTestService();
    const r = await unsealed.call('GET', '/audit/export?format=sealed', { as: await unsealed.admin() });
    expect(r.body.error.code).toBe('LEDGER_NOT_SEALED');
  });
});

it('is checked by the command, which finds that a file was truncated', async () => {
  const { t } = await scene();
  const dir = mkdtempSync(join(tmpdir(), 'legate-export-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const text = await (await t.legate.ledger.export({ fromSeq: 2 })).text();
  const key = (await t.legate.ledger.keys()).keys;
  let printed = '';
  const run = (name: string, content: string): number => {
    const path = join(dir, name);
    writeFileSync(path, content);
    printed = '';
    return runVerify({ files: [path], key }, (line) => {
      printed += line;
    });
  };
  expect(run('good', text)).toBe(0);
  expect(printed).toContain('These are all rows from 2 to');
  expect(run('cut', text.slice(0, -1))).toBe(1);
  expect(run('shorter', text.slice(0, text.lastIndexOf('{"left"')))).toBe(1);
  expect(printed).toContain('has been cut');
});

it('breaks the connection if it fails at its first row, and sends nothing about the cause', async () => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const admin = await t.admin();
  await t.agent(await t.user(), {});
  await t.legate.ledger.export();
  await t.legate.platform.database.write.deleteFrom('seal_tiles').where('level', '=', 0).execute();
  const { port, stop } = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  try {
    const address = `http://127.0.0.1:${port}/audit/export?format=sealed`;
    const response = await fetch(address, { headers: { authorization: `Bearer ${admin.token}` } });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'application/x-ndjson; charset=utf-8',
    ]);
    await expect(response.text()).rejects.toThrow();
  } finally {
    await stop(100);
  }
});
