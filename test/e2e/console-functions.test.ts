import { describe, expect, it } from 'vitest';
import { parseFilter } from '../../console/src/screens/audit-filter.ts';
import { compareArguments } from '../../console/src/screens/comparison.ts';

describe('the filter of the audit screen', () => {
  it('reads keys, quotes, negation and times, and names what it does not know', () => {
    expect(
      parseFilter('agent:agt_x -result:allowed resource:"db:a b" since:2026-11-01T10:00Z foo -until:2026-11-02'),
    ).toEqual({
      query: {
        agentId: ['agt_x'],
        'not.result': ['allowed'],
        resource: ['db:a b'],
        since: ['2026-11-01T10:00:00.000Z'],
      },
      unknown: ['foo', '-until:2026-11-02'],
    });
    expect(parseFilter('since:yesterday').unknown).toEqual(['since:yesterday']);
  });
});

describe('the comparison of a call with earlier ones', () => {
  const compared = (call: unknown, ...earlier: unknown[]) => Object.fromEntries(compareArguments(call, earlier));
  it('counts equal values, and marks new ones and numbers out of range', () => {
    const earlier = [12, 40, 20].map((amount) => ({ amount, to: 'Paper Ltd', list: [1] }));
    expect(compared({ amount: 9800, to: 'Paper Ltd', list: [2, 3], note: 'x' }, ...earlier)).toEqual({
      amount: { kind: 'outside', low: 12, high: 40 },
      to: { kind: 'same', count: 3, of: 3 },
      'list[0]': { kind: 'outside', low: 1, high: 1 },
      'list[1]': { kind: 'never-given' },
      note: { kind: 'never-given' },
    });
    expect(compared({ amount: 30, to: '30' }, ...earlier)).toEqual({
      amount: { kind: 'never-seen' },
      to: { kind: 'never-seen' },
    });
  });
});
