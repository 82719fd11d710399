import { request } from 'node:http';
import { parse } from 'csv-parse/sync';
import { describe, expect, it, vi } from 'vitest';
import { type AuditWorld, fill, list, world } from '../../../test/support/audit.ts';
import type { Json } from '../../../test/support/service.ts';
import { listen } from '../../http/node.ts';

describe('GET /audit/export', () => {
  it('200: returns every row, without a limit, as valid json, ndjson and csv', async () => {
    const w = await world();
    await fill(w, 12_345);
    const get = (format: string) => w.t.call('GET', `/audit/export?format=${format}`, { as: w.alice });
    const json = await get('json');
    expect([json.status, json.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(json.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-.*\.json"$/);
    expect(json.body).toHaveLength(12_345);
    expect(json.body[0].seq).toBeLessThan(json.body[12_344].seq);
    const page = (await list(w, '?limit=3')).body;
    expect(json.body.slice(-3).reverse()).toEqual(page);
    const nd = (await get('ndjson')).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(nd).toEqual(json.body);
    const csv = (await get('csv')).text;
    expect(csv.split('\r\n')[0]).toBe(
      'id,timestamp,agentId,userId,action,resource,result,reason,durationMs,tokensCost,parameters,ip,userAgent,' +
        'delegationIds,seq',
    );
    const rows = parse(csv, { columns: true }) as Record<string, string>[];
    expect(rows.map((r) => [r['id'], r['timestamp'], r['resource'], r['seq']])).toEqual(
      json.body.map((e: Json) => [e.id, e.timestamp, e.resource, String(e.seq)]),
    );
  });

  it('200: neutralises formulas without splitting cells', async () => {
    const w = await world();
    const hostile = [
      '=1+1',
      '+1',
      '-1',
      '@x',
      '\tx',
      '\rx',
      '＝1',
      'a,b',
      'a"b',
      'a\nb',
      'a\r\n=x',
      '"',
      ',',
      "'",
      'ü\u202e',
      '=cmd|"/C calc"!A0',
    ];
    for (const action of hostile) await w.t.authorize(w.a, { action, resource: 'db:x', arguments: { action } });
    const csv = (await w.t.call('GET', '/audit/export?format=csv', { as: w.alice })).text;
    const rows = parse(csv, { columns: true }) as Record<string, string>[];
    expect(rows.map((r) => r['action'])).toEqual(hostile.map((h) => (/^[=+\-@\t\r＝]/.test(h) ? `'${h}` : h)));
    expect(rows.map((r) => JSON.parse(r['parameters'] ?? ''))).toEqual(hostile.map((action) => ({ action })));
    expect(naiveCsv(csv)).toEqual(parse(csv));
  });

  it('200: an empty result is a complete file; filters and visibility apply', async () => {
    const w = await world();
    const get = (query: string, as: { token: string }) => w.t.call('GET', `/audit/export?${query}`, { as });
    expect((await get('format=json', w.alice)).body).toEqual([]);
    expect((await get('format=csv', w.alice)).text.split('\r\n')).toHaveLength(2);
    await w.t.authorize(w.a, { action: 'read', resource: 'db:1' });
    w.t.clock.advance(5000);
    await w.t.authorize(w.a, { action: 'read', resource: 'capped' });
    await w.t.authorize(w.b, { action: 'read', resource: 'db:1' });
    expect((await get('format=json', w.alice)).body).toHaveLength(2);
    expect((await get('format=json', w.bob)).body).toHaveLength(1);
    expect((await get(`format=json&agentId=${w.b.id}`, w.alice)).body).toEqual([]);
    expect((await get('format=json&result=rate_limited', w.alice)).body).toHaveLength(1);
    expect((await get('format=json&since=2030-01-15T10:10:05Z', w.alice)).body).toHaveLength(1);
    expect((await get('format=json&until=2030-01-15T10:10:05Z', w.alice)).body).toHaveLength(1);
    expect((await get('format=json', await w.t.admin())).body).toHaveLength(3);
  });

  it('400 for a time range that ends before it begins, in every format', async () => {
    const w = await world();
    for (const format of ['json', 'csv', 'ndjson', 'sealed'])
      for (const as of [w.alice, await w.t.admin()]) {
        const time = 'since=2030-01-02T00:00:00Z&until=2030-01-01T00:00:00Z';
        const { status, body } = await w.t.call('GET', `/audit/export?format=${format}&${time}`, { as });
        expect([status, body.error.code], format).toEqual([400, 'VALIDATION_FAILED']);
      }
  });

  it('400 without or with an unknown format', async () => {
    const w = await world();
    for (const query of ['', '?format=xml', '?format=json&format=csv', '?format=json&since=x'])
      expect((await w.t.call('GET', `/audit/export${query}`, { as: w.alice })).status, query).toBe(400);
    expect((await w.t.call('GET', '/audit/export?format=json')).status).toBe(401);
  });

  it('ends at the row that was last when it began, and frees its slot when the reader disconnects', async () => {
    const w = await world();
    await fill(w, 5000);
    const open = async () =>
      w.t.legate.fetch(
        new Request('http://localhost:3000/audit/export?format=ndjson', {
          headers: { authorization: `Bearer ${w.alice.token}` },
        }),
      );
    const streaming = await open();
    const reader = (streaming.body as ReadableStream<Uint8Array>).getReader();
    const first = await reader.read();
    await fill(w, 500);
    let text = new TextDecoder().decode(first.value);
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
      text += new TextDecoder().decode(chunk.value);
    expect(text.trimEnd().split('\n')).toHaveLength(5000);
    const held = await Promise.all([open(), open(), open()]);
    expect(held.map((r) => r.status)).toEqual([200, 200, 200]);
    const refused = await open();
    expect([refused.status, (await refused.json()).error.code]).toEqual([503, 'TOO_MANY_EXPORTS']);
    await Promise.all(held.map((r) => r.body?.cancel()));
    const again = await open();
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });

  it('breaks the connection instead of ending early when the database fails midway', async () => {
    const w = await world();
    await fill(w, 5000);
    failAfter(w, 2);
    await expect(w.t.call('GET', '/audit/export?format=json', { as: w.alice })).rejects.toThrow();
  });
});

/** Makes reads of the ledger fail after a number of slices of an export. */
function failAfter(w: AuditWorld, pieces: number): void {
  const { reader } = w.t.legate.platform;
  const slices = reader.slices.bind(reader);
  reader.slices = async function* (filter) {
    let n = 0;
    for await (const rows of slices(filter)) {
      if (n++ === pieces) throw new Error('gone');
      yield rows;
    }
  };
}

/** An independent reader of RFC 4180, character by character. */
function naiveCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') cell += text[i++];
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ',' || (c === '\r' && text[i + 1] === '\n')) {
      row.push(cell);
      cell = '';
      if (c === ',') continue;
      rows.push(row);
      row = [];
      i++;
    } else cell += c;
  }
  return rows;
}

describe('an export over a socket', () => {
  const overSocket = async (w: AuditWorld, path: string, method = 'GET') => {
    const { port, stop } = await listen(w.t.legate, { port: 0, host: '127.0.0.1' });
    try {
      return await new Promise<{ status: number; type: string | undefined; text: string; whole: boolean }>(
        (resolve, reject) => {
          const req = request(
            { port, host: '127.0.0.1', path, method, headers: { authorization: `Bearer ${w.alice.token}` } },
            (res) => {
              let text = '';
              res.setEncoding('utf8');
              res.on('data', (chunk: string) => (text += chunk));
              res.on('error', () => {});
              res.on('close', () =>
                resolve({ status: res.statusCode ?? 0, type: res.headers['content-type'], text, whole: res.complete }),
              );
            },
          );
          req.on('error', reject);
          req.end();
        },
      );
    } finally {
      await stop(100);
    }
  };

  it('arrives completely', async () => {
    const w = await world();
    await fill(w, 3000);
    const { status, text, whole } = await overSocket(w, '/audit/export?format=json');
    expect([status, whole, JSON.parse(text).length]).toEqual([200, true, 3000]);
  });

  it('breaks the connection visibly when the database fails midway', async () => {
    const w = await world();
    await fill(w, 3000);
    failAfter(w, 2);
    const { status, text, whole } = await overSocket(w, '/audit/export?format=ndjson');
    expect([status, whole]).toEqual([200, false]);
    expect(text.length).toBeGreaterThan(0);
  });

  it('breaks the connection visibly when the database fails at the first row, without naming the cause', async () => {
    const w = await world();
    await fill(w, 10);
    failAfter(w, 0);
    const { status, type, text, whole } = await overSocket(w, '/audit/export?format=ndjson');
    expect([status, type, text, whole]).toEqual([200, 'application/x-ndjson; charset=utf-8', '', false]);
  });

  it('takes no slot for a HEAD request', async () => {
    const w = await world();
    await fill(w, 3000);
    for (let i = 0; i < 6; i++)
      expect((await w.t.call('HEAD', '/audit/export?format=csv', { as: w.alice })).status).toBe(200);
    expect(await overSocket(w, '/audit/export?format=csv', 'HEAD')).toMatchObject({
      status: 200,
      text: '',
      type: 'text/csv; charset=utf-8; header=present',
    });
    expect((await w.t.call('GET', '/audit/export?format=csv', { as: w.alice })).status).toBe(200);
  });

  it('is aborted if its reader accepts nothing for a minute', async () => {
    const w = await world();
    await fill(w, 5000);
    // Real time advances the fake timers, because reads pause briefly under load.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    try {
      const open = async () =>
        w.t.legate.fetch(
          new Request('http://localhost:3000/audit/export?format=ndjson', {
            headers: { authorization: `Bearer ${w.alice.token}` },
          }),
        );
      const { reader } = w.t.legate.platform;
      const slices = reader.slices.bind(reader);
      let taken = 0;
      reader.slices = async function* (filter) {
        for await (const rows of slices(filter)) {
          taken++;
          yield rows;
        }
      };
      const held = [await open(), await open(), await open()];
      // Each export reads one slice ahead of its reader.
      while (taken < 3) await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      expect((await open()).status).toBe(503);
      vi.advanceTimersByTime(60_001);
      const free = await open();
      expect(free.status).toBe(200);
      await free.body?.cancel();
      for (const { body } of held) {
        const drain = async () => {
          for await (const _ of body as unknown as AsyncIterable<Uint8Array>);
        };
        await expect(drain()).rejects.toThrow('broke off');
      }
    } finally {
      vi.runOnlyPendingTimers();
      vi.useRealTimers();
    }
  });
});
