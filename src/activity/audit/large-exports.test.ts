import { afterEach, describe, expect, it, vi } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';
import { SLICE_BYTES } from '../../ledger/index.ts';
import type { StreamEventRow } from '../../storage/index.ts';

const t = await createTestService({ lasting: true, config: { ledger: { seal: 'on' } } });
const admin = await t.admin();
const owner = await t.user();
const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
const { reader } = t.legate.platform;
const ofAgent = [{ field: 'agentId', values: [agent.id] } as const];

const decide = (count: number, size: number) =>
  t.call('POST', '/authorize/batch', {
    as: owner,
    body: {
      requests: Array.from({ length: count }, () => ({
        agentId: agent.id,
        action: 'read',
        resource: 'db:x',
        arguments: { text: 'x'.repeat(size) },
      })),
    },
  });

// The ledger contains small entries, then large ones, then both alternately.
for (let i = 0; i < 8; i++) await decide(15, 10);
for (let i = 0; i < 6; i++) await decide(15, 60_000);
for (let i = 0; i < 60; i++) await decide(1, i % 2 === 0 ? 60_000 : 10);
const COUNT = 8 * 15 + 6 * 15 + 60;

const bytesOf = (rows: readonly Partial<StreamEventRow>[]): number =>
  rows.reduce((sum, { parameters, data, change }) => sum + Buffer.byteLength([parameters, data, change].join('')), 0);

async function chunksOf(response: Response): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) chunks.push(Buffer.from(chunk));
  return chunks;
}

describe('exports and usage of entries with large arguments', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('an export reads slices of limited size, and every entry once, in both orders', async () => {
    const seqs: number[][] = [];
    for (const order of ['asc', 'desc'] as const) {
      const slices: StreamEventRow[][] = [];
      for await (const rows of reader.slices({ where: ofAgent }, order)) slices.push(rows);
      for (const rows of slices) if (rows.length > 1) expect(bytesOf(rows)).toBeLessThanOrEqual(SLICE_BYTES);
      // Several small entries share a slice.
      expect(Math.max(...slices.map((rows) => rows.length))).toBeGreaterThan(100);
      seqs.push(slices.flat().map(({ seq }) => seq));
    }
    expect(seqs[0]).toEqual(seqs[1]?.toReversed());
    expect(new Set(seqs[0]).size).toBe(COUNT + 1);
  });

  it('a sealed export sends chunks of limited size', async () => {
    const response = await t.legate.ledger.export();
    const chunks = await chunksOf(response);
    // An entry is longer than its large columns, because it has other columns and JSON escapes.
    for (const chunk of chunks) expect(chunk.length).toBeLessThan(2 * SLICE_BYTES);
    const lines = Buffer.concat(chunks).toString('utf8').trimEnd().split('\n');
    const { from, to } = JSON.parse(lines[0] as string);
    expect(lines).toHaveLength(to - from + 3);
    const asked = await t.call('GET', '/audit/export?format=ndjson', { as: admin });
    expect(asked.status).toBe(200);
  });

  it('the usage of permissions is found without reading arguments', async () => {
    let bytes = 0;
    for (const name of ['page', 'newest'] as const) {
      const read = reader[name].bind(reader) as (...args: unknown[]) => Promise<StreamEventRow[]>;
      vi.spyOn(reader, name).mockImplementation(async (...args: unknown[]) => {
        const rows = await read(...args);
        bytes += bytesOf(rows);
        return rows;
      });
    }
    const { status, body } = await t.call('GET', `/agents/${agent.id}/permissions`, { as: owner });
    expect(status).toBe(200);
    const [newest] = (await t.call('GET', `/audit?agentId=${agent.id}&limit=1`, { as: owner })).body as Json[];
    expect(body[0].lastUsedAt).toBe(newest?.timestamp);
    expect(reader.newest).toHaveBeenCalled();
    expect(bytes).toBeLessThan(COUNT * 10);
  });
});
