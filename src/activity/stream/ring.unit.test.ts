import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SYSTEM } from '../../access/actor.ts';
import { asId } from '../../kernel/ids.ts';
import { rowAt } from '../../ledger/index.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { frameText } from './record.ts';
import { Ring } from './ring.ts';

const UNLIMITED = 1_000_000;

const rowOf = (seq: number, text: string): StreamEventRow =>
  rowAt(
    {
      firstSeq: seq,
      records: [],
      events: [
        {
          id: `evt_${String(seq).padStart(26, '0')}`,
          type: 'agent.created',
          agentId: asId('agent', 'agt_1'),
          data: { text },
          actor: SYSTEM,
        },
      ],
      timestamp: 1_790_000_000_000 + seq,
    },
    0,
  );

const steps = (
  usual: number,
  tooLarge: number,
): fc.Arbitrary<{ size: number; unit: string; gap: number; wanted: boolean }[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 150,
        arbitrary: fc.record({
          size: fc.nat({ max: usual }),
          unit: fc.constantFrom('a', 'é', '語', '🦊'),
          gap: fc.constant(0),
          wanted: fc.nat(3).map((n) => n > 0),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          size: fc.nat({ max: 50 }),
          unit: fc.constant('a'),
          gap: fc.integer({ min: 1, max: 3 }),
          wanted: fc.boolean(),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          size: fc.constant(tooLarge),
          unit: fc.constant('a'),
          gap: fc.constant(0),
          wanted: fc.boolean(),
        }),
      },
    ),
    { minLength: 50, maxLength: 150 },
  );

it.each([
  ['events', 12, UNLIMITED],
  ['bytes', 1000, 30_000],
  ['both', 25, 12_000],
])(
  'limited in %s, the ring contains the last pushed events, byte for byte and without a gap',
  (_, maxEvents, arenaBytes) => {
    let dropped = 0;
    const scratch = Buffer.alloc(100_000);
    fc.assert(
      fc.property(steps(arenaBytes === 12_000 ? 90 : 400, arenaBytes), (pushes) => {
        const ring = new Ring(maxEvents, arenaBytes);
        scratch.fill(0);
        const texts = new Map<number, Buffer>();
        let seq = 0;
        let since = 1;
        for (const { size, unit, gap, wanted } of pushes) {
          seq += 1 + gap;
          const row = rowOf(seq, unit.repeat(size));
          texts.set(seq, Buffer.from(wanted ? frameText(row) : ''));
          ring.push(seq, row.type, wanted ? row : undefined);
          const { first, last } = ring;
          if (gap > 0) since = seq;
          if (size === arenaBytes && wanted) since = seq + 1;
          const bounds = [last, first > last, first >= since, last - first < maxEvents];
          if (bounds[0] !== seq || bounds[1] !== since > seq || !bounds[2] || !bounds[3])
            expect(bounds).toEqual([seq, since > seq, true, true]);
          for (let s = first; s <= last; s++) {
            const bytes = scratch.subarray(0, ring.sizeOf(s));
            ring.copyTo(bytes, 0, s);
            const wantedBytes = texts.get(s) as Buffer;
            // Calling `expect` for each of a million comparisons would take most of the time.
            if (!bytes.equals(wantedBytes) || ring.typeOf(s) !== 'agent.created')
              expect([bytes.toString(), ring.typeOf(s)]).toEqual([wantedBytes.toString(), 'agent.created']);
          }
          if (first > since) dropped++;
        }
      }),
      { numRuns: 100 },
    );
    // The ring must have been full most of the time.
    expect(dropped).toBeGreaterThan(100);
  },
);
