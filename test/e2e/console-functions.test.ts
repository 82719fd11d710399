import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkMessage, type Finding } from '../../console/src/parts/check-message.ts';
import { connectCommand } from '../../console/src/parts/connect-command.ts';
import { covers, coversActions } from '../../console/src/parts/covers.ts';
import { fixtureOf } from '../../console/src/parts/fixture.ts';
import { parseFilter } from '../../console/src/screens/audit-filter.ts';
import { compareArguments } from '../../console/src/screens/comparison.ts';
import { forecast, profileOf, windowStart } from '../../console/src/screens/forecast.ts';
import { writerOf } from '../../console/src/screens/writer-of.ts';
import { de } from '../../console/src/texts/de.ts';
import { en } from '../../console/src/texts/en.ts';
import { patternMatches } from '../../src/authorization/permissions/index.ts';

describe('the filter of the audit screen', () => {
  it('parses keys, quotes, negation and times, and names unknown words', () => {
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

describe('the coverage of a permission', () => {
  const pattern = fc
    .array(fc.constantFrom('a', 'b', '*'), { minLength: 1, maxLength: 4 })
    .map((segments) => segments.join(':'));
  it('agrees with the matcher of the service', () => {
    fc.assert(
      fc.property(pattern, pattern, (wide, narrow) => {
        expect(covers(wide, narrow), `${wide} ${narrow}`).toBe(patternMatches(wide, narrow));
      }),
      { numRuns: 2000 },
    );
    expect(coversActions(['*'], ['read', 'write'])).toBe(true);
    expect(coversActions(['read'], ['read', 'write'])).toBe(false);
  });
});

describe('the forecast of a budget', () => {
  const HOUR = 3_600_000;
  const monday = Date.UTC(2026, 10, 23);
  it('uses the rate of the window if there is no history', () => {
    const day = { used: 30, limit: 100, startsAt: monday, resetsAt: monday + 24 * HOUR };
    expect(forecast(day, monday + 12 * HOUR)).toEqual({ atReset: 60, reachedAt: undefined });
    const { atReset, reachedAt } = forecast({ ...day, used: 80 }, monday + 12 * HOUR);
    expect(atReset).toBe(160);
    expect(Math.round(((reachedAt?.getTime() ?? 0) - monday) / HOUR)).toBe(15);
    expect(forecast({ ...day, used: 100 }, monday + HOUR).reachedAt).toEqual(new Date(monday + HOUR));
    expect(forecast({ ...day, used: 0 }, monday).atReset).toBe(0);
  });
  it('uses the hours of the week from 14 days of history on', () => {
    // The usage is 10 in each hour from 8 to 18 on weekdays, and 0 otherwise.
    const used = (at: number): number => {
      const date = new Date(at);
      const works = date.getUTCDay() >= 1 && date.getUTCDay() <= 5;
      return works && date.getUTCHours() >= 8 && date.getUTCHours() < 18 ? 10 : 0;
    };
    const hourly = Array.from({ length: 336 }, (_, i) => monday - (336 - i) * HOUR).map((at) => ({
      at,
      used: used(at),
    }));
    expect(profileOf(hourly.slice(1))).toBeUndefined();
    const profile = profileOf(hourly);
    const day = { used: 20, limit: 90, startsAt: monday, resetsAt: monday + 24 * HOUR };
    // At ten, 20 are usual, so the day ends with 100, and 90 are reached at 17.
    const { atReset, reachedAt } = forecast(day, monday + 10 * HOUR, profile);
    expect(atReset).toBeCloseTo(100);
    expect(((reachedAt?.getTime() ?? 0) - monday) / HOUR).toBeCloseTo(17, 2);
    // Twice the usual amount so far means twice the usual amount later.
    expect(forecast({ ...day, used: 40 }, monday + 10 * HOUR, profile).atReset).toBeCloseTo(200);
    expect(forecast(day, monday + 18 * HOUR, profile)).toEqual({ atReset: 20, reachedAt: undefined });
  });
  it('is never below the current usage, and reaches the limit inside the window or not at all', () => {
    const amount = fc.integer({ min: 0, max: 1000 });
    fc.assert(
      fc.property(amount, amount, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (spent, limit, share) => {
        const span = { used: spent, limit, startsAt: monday, resetsAt: monday + 24 * HOUR };
        const now = monday + share * 24 * HOUR;
        const { atReset, reachedAt } = forecast(span, now);
        expect(atReset).toBeGreaterThanOrEqual(spent);
        expect(reachedAt !== undefined).toBe(atReset >= limit);
        if (reachedAt) expect(reachedAt.getTime()).toBeGreaterThanOrEqual(Math.floor(now));
        if (reachedAt) expect(reachedAt.getTime()).toBeLessThanOrEqual(span.resetsAt);
      }),
    );
  });
  it('uses the windows of the service', () => {
    expect(windowStart('hour', monday)).toBe(monday - HOUR);
    expect(windowStart('day', monday)).toBe(monday - 24 * HOUR);
    expect(windowStart('month', Date.UTC(2026, 2, 1))).toBe(Date.UTC(2026, 1, 1));
  });
});

describe('the check of a webhook message', () => {
  const now = 1_800_000_000_000;
  const secret = `whsec_${Buffer.from('a secret of the receiver').toString('base64')}`;
  const payload = '{"type":"audit","data":{"a":1}}';
  const sign = (id: string, timestamp: string, body: string): string =>
    `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update(`${id}.${timestamp}.${body}`)
      .digest('base64')}`;
  const timestamp = String(now / 1000);
  const good = { id: 'evt_1', timestamp, secret, body: payload, signature: sign('evt_1', timestamp, payload) };
  const old = String(now / 1000 - 301);
  it.each<[Finding, Partial<typeof good>]>([
    ['holds', {}],
    ['holds', { signature: `v1,${'A'.repeat(43)}= ${good.signature}` }],
    ['timestamp-old', { timestamp: old, signature: sign('evt_1', old, payload) }],
    ['timestamp-form', { timestamp: '2027-01-15T08:00:00Z' }],
    ['id', { id: 'evt_2' }],
    ['body', { body: JSON.stringify(JSON.parse(payload), null, 2) }],
    ['secret', { secret: `whsec_${Buffer.from('another').toString('base64')}` }],
    ['secret', { timestamp: String(now / 1000 + 1) }],
    ['secret-form', { secret: 'whsec_%' }],
    ['signature-form', { signature: 'sha256=abc' }],
  ])('finds %s', async (finding, change) => {
    expect(await checkMessage({ ...good, ...change }, { id: 'evt_1', payload }, now)).toBe(finding);
  });
});

describe('a decision as a test', () => {
  it('does not exist if the conditions of a chain do not fit into one permission', () => {
    const entry = { action: 'read', resource: 'a:b', parameters: {}, ip: null, timestamp: '2030-01-01T00:00:00.000Z' };
    const own = { resource: 'a:*', actions: ['read'], source: { type: 'own' }, lastUsedAt: null } as const;
    expect(JSON.parse(fixtureOf({ ...entry, result: 'allowed', reason: null } as never, 'x', [own]) ?? '')).toEqual({
      agents: { x: { permissions: [{ resource: 'a:*', actions: ['read'] }] } },
      now: entry.timestamp,
      tests: [{ name: 'x: read a:b', agent: 'x', action: 'read', resource: 'a:b', expect: 'allowed' }],
    });
    const chained = { ...own, furtherConstraints: [{ maxCallsPerHour: 1 }] };
    expect(fixtureOf({ ...entry, result: 'allowed' } as never, 'x', [chained])).toBeUndefined();
  });
});

describe('the author of a permission', () => {
  const version = (n: number, resources?: readonly string[]) =>
    ({
      version: n,
      seq: n * 10,
      at: '',
      type: null,
      actor: { kind: 'user' },
      before: {},
      after: resources
        ? { permissions: resources.map((resource) => ({ resource, actions: ['read'] })) }
        : { name: 'x' },
    }) as never;

  it('is the actor who gave it its state at that time, not one who changed something else later', () => {
    const versions = [
      version(6, ['a']),
      version(5, ['b']),
      version(4, ['a', 'c']),
      version(3),
      version(2, ['a']),
      version(1, []),
    ];
    const found = (seq: number, resource: string) => writerOf(versions, seq, resource)?.version;
    expect([found(45, 'a'), found(25, 'a'), found(65, 'a'), found(45, 'c'), found(15, 'a')]).toEqual([
      2,
      2,
      6,
      4,
      undefined,
    ]);
    // The older versions were not loaded.
    expect(writerOf(versions.slice(0, 5), 45, 'a')).toBeUndefined();
  });
});

describe('the command that connects a client', () => {
  it('has a name that the client accepts, and passes any address as one argument', () => {
    const add = 'claude mcp add --transport http';
    expect(connectCommand('files_2', 'https://a.example/mcp')).toBe(`${add} files_2 https://a.example/mcp`);
    expect(connectCommand('Files Berlin; rm -r $(pwd)', 'https://a.example/mcp?a=1&b=$(id)')).toBe(
      `${add} Files-Berlin-rm-r-pwd 'https://a.example/mcp?a=1&b=$(id)'`,
    );
    expect(connectCommand('סוכן', "https://a.example/'x'")).toBe(`${add} server 'https://a.example/%27x%27'`);
  });
});

describe('the texts of the console', () => {
  it.each([
    [en, 'failing webhook', 'at most 1 call per hour', '1 further permission is not shown.', '1 day 2 h left'],
    [
      de,
      'gestörter Webhook',
      'höchstens 1 Aufruf pro Stunde',
      'Eine weitere Berechtigung ist nicht aufgeführt.',
      'noch 1 Tag 2 h',
    ],
  ] as const)('have a singular', (t, webhook, cap, omitted, left) => {
    expect([t.attention.webhooks(1), t.says.cap(1), t.omitted(1), t.timeLeft(93_600)]).toEqual([
      webhook,
      cap,
      omitted,
      left,
    ]);
    expect(t.attention.webhooks(2)).not.toBe(webhook);
  });

  it('say the time left in its two largest units, and of an agent that loses nothing, that it loses nothing', () => {
    expect([0, 59, 61, 3599, 3600, 86_399, 86_400, 604_800].map(en.timeLeft)).toEqual([
      '0 min 00 s left',
      '0 min 59 s left',
      '1 min 01 s left',
      '59 min 59 s left',
      '1 h 00 min left',
      '23 h 59 min left',
      '1 day 0 h left',
      '7 days 0 h left',
    ]);
    expect([en, de].flatMap(({ preview }) => [preview.loses(0, 0), preview.loses(0, 2), preview.loses(1, 0)])).toEqual([
      'has no permissions to lose',
      'loses no permissions, keeps 2',
      'loses 1 permission, keeps 0',
      'hat keine Berechtigungen',
      'verliert keine Berechtigung, behält 2',
      'verliert 1 Berechtigung, behält 0',
    ]);
  });
});
