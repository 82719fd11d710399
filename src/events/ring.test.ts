import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StreamEventRow } from '../storage/index.ts';
import { frameText } from './record.ts';
import { Ring } from './ring.ts';

const UNLIMITED = 1_000_000;

const rowOf = (seq: number, text: string): StreamEventRow => ({
  seq,
  id: `evt_${String(seq).padStart(26, '0')}`,
  type: 'agent.created',
  timestamp: 1_790_000_000_000 + seq,
  agent_id: 'agt_1',
  user_id: null,
  action: null,
  resource: null,
  result: null,
  reason: null,
  duration_ms: null,
  tokens_cost: null,
  parameters: null,
  ip: null,
  user_agent: null,
  delegation_ids: null,
  data: JSON.stringify({ text }),
});

const steps = (tooLarge: number): fc.Arbitrary<{ size: number; unit: string; gap: number }[]> =>
  fc.array(
    fc.oneof(
      { weight: 150, arbitrary: fc.record({ size: fc.nat({ max: 90 }), unit: fc.constantFrom('a', 'é', '語', '🦊'), gap: fc.constant(0) }) },
      { weight: 1, arbitrary: fc.record({ size: fc.nat({ max: 50 }), unit: fc.constant('a'), gap: fc.integer({ min: 1, max: 3 }) }) },
      { weight: 1, arbitrary: fc.record({ size: fc.constant(tooLarge), unit: fc.constant('a'), gap: fc.constant(0) }) },
    ),
    { minLength: 50, maxLength: 150 },
  );

it.each([
  ['events', 12, UNLIMITED],
  ['bytes', UNLIMITED, 12_000],
])('bounded in %s, what the ring has is the end of what was pushed, byte by byte and without a gap', (_, maxFrames, arenaBytes) => {
  let dropped = 0;
  fc.assert(
    fc.property(steps(arenaBytes), (pushes) => {
      const ring = new Ring(maxFrames, arenaBytes);
      const texts = new Map<number, string>();
      let seq = 0;
      let since = 1;
      for (const { size, unit, gap } of pushes) {
        seq += 1 + gap;
        const row = rowOf(seq, unit.repeat(size));
        const text = frameText(row);
        texts.set(seq, text);
        ring.push(row);
        const { first } = ring;
        if (gap > 0) since = seq;
        if (size === arenaBytes) since = seq + 1;
        expect(first === undefined).toBe(since > seq);
        if (first === undefined) continue;
        expect(first).toBeGreaterThanOrEqual(since);
        const frames = ring.behind(first - 1, UNLIMITED);
        expect(frames.map((f) => f.seq)).toEqual(Array.from({ length: seq - first + 1 }, (__, i) => first + i));
        expect(ring.behind(first, 2).map((f) => f.seq)).toEqual([first + 1, first + 2].filter((s) => s <= seq));
        for (const frame of frames) {
          const bytes = Buffer.alloc(frame.size);
          frame.copyTo(bytes, 0);
          expect(bytes.toString()).toBe(texts.get(frame.seq));
        }
        expect(frames.length).toBeLessThanOrEqual(maxFrames);
        if (first > since) dropped++;
      }
    }),
    { numRuns: 50 },
  );
  // It was full nearly all the time.
  expect(dropped).toBeGreaterThan(100);
});
