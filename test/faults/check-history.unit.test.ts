import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.ts';
import type { History, LedgerRow, Operation } from './history.ts';

const at = (
  startedAt: number,
  endedAt: number,
  what: Operation['what'],
  status: number | undefined = 200,
): Operation => ({ startedAt, endedAt, instance: 0, status, what });
const granted = (right: string) => ({ kind: 'granted', right, succeeded: true }) as const;
const ended = (right: string, succeeded = true) => ({ kind: 'ended', right, succeeded }) as const;
const asked = (id: string, allowed: boolean | undefined, more: object = {}) =>
  ({ kind: 'asked', rights: ['agent'], allowed, auditId: id, agentId: 'a', resource: 'db:x', ...more }) as const;
const redeemed = (succeeded: boolean) => ({ kind: 'redeemed', secret: 'code', succeeded }) as const;
const row = (seq: number, id: string, more: Partial<LedgerRow> = {}): LedgerRow => ({
  seq,
  id,
  type: 'audit',
  timestamp: 1000 + seq,
  agentId: 'a',
  resource: 'db:x',
  result: 'allowed',
  reason: null,
  ...more,
});
const check = (history: Partial<History>): string[] =>
  checkHistory({ operations: [], ledger: [], caps: [], ...history }).map(({ rule }) => rule);

describe('a correct history', () => {
  it('has no violation', () => {
    expect(
      check({
        operations: [
          at(1, 2, granted('agent')),
          at(3, 4, asked('x', true)),
          at(5, 9, ended('agent')),
          at(6, 8, asked('y', true)),
          at(8, 10, asked('z', false)),
          at(11, 12, asked('w', false)),
          at(13, 14, asked('v', undefined), 503),
          at(13, 14, { kind: 'other', name: 'read' }, 404),
          at(1, 2, redeemed(true)),
          at(1, 2, redeemed(false)),
        ],
        ledger: [
          row(1, 'x'),
          row(2, 'y'),
          row(3, 'unanswered'),
          row(4, 'z', { result: 'denied' }),
          row(5, 'w', { result: 'denied', timestamp: 1004 }),
        ],
        caps: [{ agentId: 'a', resource: 'db:x', limit: 3, per: 'hour' }],
      }),
    ).toEqual([]);
  });
});

describe('rights', () => {
  it('rejects an allowed call that begins after the response to the revocation', () => {
    const operations = [at(1, 2, ended('agent')), at(3, 4, asked('x', true))];
    expect(check({ operations, ledger: [row(1, 'x')] })).toEqual(['no allow after a revocation']);
  });

  it('accepts an allowed call that overlaps the revocation, and one after a revocation without a response', () => {
    const operations = [
      at(1, 5, ended('agent')),
      at(4, 9, asked('x', true)),
      at(1, 2, ended('other', false), undefined),
      at(3, 4, asked('y', true, { rights: ['other'] })),
    ];
    expect(check({ operations, ledger: [row(1, 'x'), row(2, 'y')] })).toEqual([]);
  });

  it('rejects the refusal of a granted right whose end has not begun', () => {
    const operations = [at(1, 2, granted('agent')), at(3, 4, asked('x', false)), at(5, 6, ended('agent'))];
    expect(check({ operations, ledger: [row(1, 'x', { result: 'denied' })] })).toEqual(['what was given holds']);
  });

  it('accepts a refusal if the end may have happened without a response, or because of a cap', () => {
    const ledger = [row(1, 'x', { result: 'denied' })];
    const unanswered = [at(1, 2, granted('agent')), at(3, 4, ended('agent', false), undefined)];
    expect(check({ operations: [...unanswered, at(5, 6, asked('x', false))], ledger })).toEqual([]);
    const capped = [at(1, 2, granted('agent')), at(5, 6, asked('x', false, { isConditional: true }))];
    expect(check({ operations: capped, ledger })).toEqual([]);
  });
});

describe('decisions', () => {
  it('rejects a response whose decision is not in the ledger', () => {
    expect(check({ operations: [at(1, 2, asked('x', true))] })).toEqual(['recorded once']);
  });

  it('rejects a response without an audit id', () => {
    const operations = [at(1, 2, asked('x', true, { auditId: undefined }))];
    expect(check({ operations })).toEqual(['recorded once']);
  });

  it('rejects two rows for one decision, and one row for two responses', () => {
    expect(check({ ledger: [row(1, 'x'), row(2, 'x')] })).toEqual(['recorded once']);
    const operations = [at(1, 4, asked('x', true)), at(3, 4, asked('x', true))];
    expect(check({ operations, ledger: [row(1, 'x')] })).toEqual(['recorded once']);
  });

  it.each([
    ['another verdict', { result: 'denied' }],
    ['another agent', { agentId: 'b' }],
    ['another resource', { resource: 'db:y' }],
  ])('rejects a row with %s', (_, more) => {
    expect(check({ operations: [at(1, 2, asked('x', true))], ledger: [row(1, 'x', more)] })).toEqual([
      'recorded as answered',
    ]);
  });

  it('rejects a decision that precedes an earlier answered one', () => {
    const operations = [at(1, 2, asked('x', true)), at(3, 4, asked('y', true))];
    expect(check({ operations, ledger: [row(1, 'y'), row(2, 'x')] })).toEqual(['recorded in order']);
    const overlapping = [at(1, 5, asked('x', true)), at(3, 4, asked('y', true))];
    expect(check({ operations: overlapping, ledger: [row(1, 'y'), row(2, 'x')] })).toEqual([]);
  });
});

describe('the sequence', () => {
  it('rejects a gap, and a ledger that does not begin with 1', () => {
    expect(check({ ledger: [row(1, 'x'), row(3, 'y')] })).toEqual(['no gap']);
    expect(check({ ledger: [row(2, 'x')] })).toEqual(['no gap']);
  });

  it('rejects time that decreases', () => {
    const ledger = [row(1, 'x', { timestamp: 1000 }), row(2, 'y', { timestamp: 999 })];
    expect(check({ ledger })).toEqual(['time never goes back']);
  });
});

describe('caps', () => {
  const caps = [{ agentId: 'a', resource: 'db:x', limit: 1, per: 'hour' }] as const;

  it('rejects one call too many, even if no client received the response', () => {
    expect(check({ ledger: [row(1, 'x'), row(2, 'y')], caps })).toEqual(['caps are exact']);
  });

  it('rejects a refusal because of a cap that is not used up', () => {
    const ledger = [row(1, 'x', { result: 'denied', reason: 'RATE_LIMITED' }), row(2, 'y')];
    expect(check({ ledger, caps })).toEqual(['caps are exact']);
  });

  it('counts each clock hour separately, unless the limit is for all time', () => {
    const ledger = [row(1, 'x', { timestamp: 3_599_999 }), row(2, 'y', { timestamp: 3_600_000 })];
    expect(check({ ledger, caps })).toEqual([]);
    expect(check({ ledger, caps: [{ ...caps[0], per: 'ever' }] })).toEqual(['caps are exact']);
  });

  it('does not count other events, agents and resources', () => {
    const ledger = [
      row(1, 'x'),
      row(2, 'y', { type: 'agent.updated' }),
      row(3, 'z', { agentId: 'b' }),
      row(4, 'w', { resource: 'db:y' }),
    ];
    expect(check({ ledger, caps })).toEqual([]);
  });
});

describe('single use', () => {
  it('rejects a secret that worked twice', () => {
    expect(check({ operations: [at(1, 2, redeemed(true)), at(3, 4, redeemed(true))] })).toEqual(['single use']);
  });
});

describe('failures', () => {
  it.each([429, 500, 502, 504])('rejects %i', (status) => {
    expect(check({ operations: [at(1, 2, { kind: 'other', name: 'read' }, status)] })).toEqual(['a failure is 503']);
  });

  it('accepts 503 and a missing response', () => {
    const what = { kind: 'other', name: 'read' } as const;
    expect(check({ operations: [at(1, 2, what, 503), at(1, 2, what, undefined)] })).toEqual([]);
  });
});
