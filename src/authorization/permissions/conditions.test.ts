import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import { parseAddressRange } from '../../kernel/address-range.ts';
import { Glob, globText } from './glob.ts';
import { compileTimeWindow } from './time-window.ts';

const compileGlob = (glob: string) => {
  const compiled = new Glob(glob);
  return (text: string): boolean => compiled.matches(globText(text));
};

describe('globs', () => {
  it.each([
    ['/data/*', '/data/a.txt', true],
    ['/data/*', '/data/a/b.txt', false],
    ['/data/*', '/data/', true],
    ['/data/**', '/data/a/b.txt', true],
    ['/data/**', '/database', false],
    ['/data/**', '/data/../etc/passwd', false],
    ['/data/**', '/data/..', false],
    ['/data/**', '/data/a..b', true],
    ['/data/**', '/data\\..\\etc', false],
    ['/data/**', '/data/%2e%2e/etc', false],
    ['/data/**', '/data/%2E./etc', false],
    ['/data/**', '/data/%252e%252E/etc', false],
    ['/data/**', '/data%2f..%2fetc', false],
    ['/data/**', '/data/..%5cetc', false],
    ['/data/**', '/data/%2efile', true],
    ['/data/**', '/data/100%', true],
    ['/data/*', '/data/a%2fb', false],
    ['/data/*', '/data/a%20b', true],
    ['**', '%2e%2e/x', false],
    ['%2e*', '%2e', false],
    ['../*', '%2e%2e/x', false],
    ['**', '../x', false],
    ['../*', '../x', true],
    ['*', 'main', true],
    ['*', '', true],
    ['', '', true],
    ['', 'x', false],
    ['acme/*', 'acme/repo', true],
    ['acme/*', 'evil/acme/repo', false],
    ['*.txt', 'a.txt', true],
    ['*.txt', 'a.txt.exe', false],
    ['**/x', 'a/b/x', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a.c', 'abc', false],
    ['a**b', 'a/x/b', true],
    ['ü*', 'über', true],
  ])('%j and %j: %j', (glob, text, want) => {
    expect(compileGlob(glob)(text)).toBe(want);
  });

  it('agree with a reference model that tries every path', () => {
    const model = (g: string, t: string): boolean => {
      if (g === '') return t === '';
      if (g.startsWith('**')) return model(g.slice(g[2] === '*' ? 1 : 2), t) || (t !== '' && model(g, t.slice(1)));
      if (g[0] === '*') return model(g.slice(1), t) || (t !== '' && t[0] !== '/' && model(g, t.slice(1)));
      return t !== '' && g[0] === t[0] && model(g.slice(1), t.slice(1));
    };
    const glob = fc
      .array(fc.constantFrom('a', 'b', '/', '*', '**', '.'), { maxLength: 7 })
      .map((p) => p.join('').replace(/\*{3,}/g, '**'));
    const text = fc.array(fc.constantFrom('a', 'b', '/', '.'), { maxLength: 8 }).map((p) => p.join(''));
    fc.assert(
      fc.property(glob, text, (g, t) => {
        fc.pre(!/(^|\/)\.\.(\/|$)/.test(t) || /(^|\/)\.\.(\/|$)/.test(g));
        expect(compileGlob(g)(t)).toBe(model(g, t));
      }),
      { numRuns: 5000 },
    );
  });

  it('match in linear time, even where a backtracking matcher would not finish', () => {
    const hostile = compileGlob(`${'**a'.repeat(80)}b`);
    const text = 'a'.repeat(65_000);
    expect(hostile(text)).toBe(false);
    expect(compileGlob(`${'*a'.repeat(100)}`)(text)).toBe(true);
  });

  it('match with patterns longer than one machine word', () => {
    const long = 'x'.repeat(200);
    expect(compileGlob(`${long}*`)(`${long}yz`)).toBe(true);
    expect(compileGlob(`${long}*`)(`${long.slice(1)}yz`)).toBe(false);
    expect(compileGlob('a'.repeat(32))('a'.repeat(32))).toBe(true);
    expect(compileGlob('a'.repeat(32))('a'.repeat(31))).toBe(false);
  });
});

describe('time windows', () => {
  const at = (iso: string) => Date.parse(iso);
  it.each([
    [{ start: '09:00', end: '17:00' }, '2030-01-15T09:00:00.000Z', true],
    [{ start: '09:00', end: '17:00' }, '2030-01-15T08:59:59.999Z', false],
    [{ start: '09:00', end: '17:00' }, '2030-01-15T16:59:59.999Z', true],
    [{ start: '09:00', end: '17:00' }, '2030-01-15T17:00:00.000Z', false],
    [{ start: '22:00', end: '06:00' }, '2030-01-15T23:00:00.000Z', true],
    [{ start: '22:00', end: '06:00' }, '2030-01-15T05:59:00.000Z', true],
    [{ start: '22:00', end: '06:00' }, '2030-01-15T06:00:00.000Z', false],
    [{ start: '00:00', end: '00:00' }, '2030-01-15T12:00:00.000Z', true],
    // 2030-01-15 is a Tuesday.
    [{ start: '09:00', end: '17:00', days: ['tue'] }, '2030-01-15T10:00:00.000Z', true],
    [{ start: '09:00', end: '17:00', days: ['Tuesday', 3] }, '2030-01-16T10:00:00.000Z', true],
    [{ start: '09:00', end: '17:00', days: ['mon'] }, '2030-01-15T10:00:00.000Z', false],
    [{ start: '22:00', end: '06:00', days: ['mon'] }, '2030-01-15T05:00:00.000Z', true],
    [{ start: '22:00', end: '06:00', days: ['mon'] }, '2030-01-15T23:00:00.000Z', false],
    [{ start: '09:00', end: '17:00', timeZone: 'America/New_York' }, '2030-01-15T13:59:00.000Z', false],
    [{ start: '09:00', end: '17:00', timeZone: 'America/New_York' }, '2030-01-15T14:00:00.000Z', true],
    // During daylight saving time, the same wall-clock time is an hour earlier in UTC.
    [{ start: '09:00', end: '17:00', timeZone: 'America/New_York' }, '2030-07-15T13:00:00.000Z', true],
    [{ start: '00:00', end: '01:00', timeZone: 'Asia/Kolkata', days: ['wed'] }, '2030-01-15T18:45:00.000Z', true],
  ] as const)('%j at %s: %j', (window, iso, want) => {
    expect(
      compileTimeWindow({ ...window, days: 'days' in window ? [...window.days] : undefined } as Parameters<
        typeof compileTimeWindow
      >[0])(at(iso)),
    ).toBe(want);
  });
});

describe('addresses', () => {
  it('are accepted only in strict notation', () => {
    for (const good of [
      '192.0.2.1',
      '192.0.2.0/24',
      '0.0.0.0/0',
      '2001:db8::/32',
      '::1',
      '::ffff:192.0.2.1',
      '::ffff:192.0.2.0/120',
    ])
      expect(parseAddressRange(good), good).toBeDefined();
    for (const bad of [
      '192.0.2',
      '192.0.2.1/33',
      '192.0.2.1/',
      '192.0.2.1/08',
      '0x7f.1',
      '127.1',
      'localhost',
      '',
      '2001:db8::/129',
      'fe80::1%eth0',
      '1.2.3.4/1/2',
      '::ffff:1.2.3.4/90',
    ])
      expect(parseAddressRange(bad), bad).toBeUndefined();
  });
});

describe('POST /authorize with conditions', () => {
  const agentWith = async (constraints: object) => {
    const t = await createTestService();
    const owner = await t.user();
    const agent = await t.agent(owner, { permissions: [{ resource: 'fs:*', actions: ['read'], constraints }] });
    return { t, owner, agent };
  };
  const ask = { action: 'read', resource: 'fs:x' };

  it('uses the address of the connection, not context.ip, if the agent itself asks', async () => {
    const { t, owner, agent } = await agentWith({ ipAllowlist: ['192.0.2.0/24', '2001:db8::/32'] });
    const from = async (ip: string, as: { token: string }, body: object) =>
      (await t.call('POST', '/authorize', { as, ip, body: { ...ask, ...body } })).body;
    expect((await from('192.0.2.77', agent, {})).allowed).toBe(true);
    expect((await from('::ffff:192.0.2.77', agent, {})).allowed).toBe(true);
    expect((await from('2001:db8:1::5', agent, {})).allowed).toBe(true);
    expect((await from('198.51.100.1', agent, { context: { ip: '192.0.2.77' } })).reason).toBe('IP_NOT_ALLOWED');
    expect((await from('198.51.100.1', owner, { agentId: agent.id, context: { ip: '192.0.2.77' } })).allowed).toBe(
      true,
    );
    expect((await from('192.0.2.77', owner, { agentId: agent.id })).reason).toBe('IP_NOT_ALLOWED');
    expect((await from('192.0.2.77', owner, { agentId: agent.id, context: { ip: '198.51.100.1' } })).reason).toBe(
      'IP_NOT_ALLOWED',
    );
  });

  it('requires every string in the arguments to match, at any depth', async () => {
    const { t, agent } = await agentWith({ allowedArgPatterns: ['/data/**', 'utf8'] });
    const reason = async (args: unknown) => {
      const { body } = await t.call('POST', '/authorize', {
        as: agent,
        body: { ...ask, ...(args === undefined ? {} : { arguments: args }) },
      });
      return body.allowed || body.reason;
    };
    expect(await reason(undefined)).toBe(true);
    expect(await reason({})).toBe(true);
    expect(await reason({ path: '/data/a', n: 1, flag: true, none: null })).toBe(true);
    expect(await reason({ path: '/data/a', options: { encoding: 'utf8' } })).toBe(true);
    expect(await reason({ path: '/etc/passwd' })).toBe('ARGUMENTS_NOT_ALLOWED');
    expect(await reason({ deep: { er: [{ path: '/etc/passwd' }] } })).toBe('ARGUMENTS_NOT_ALLOWED');
    expect(await reason({ paths: ['/data/a', '/data/../etc/passwd'] })).toBe('ARGUMENTS_NOT_ALLOWED');
    expect(await reason({ path: { toString: '/etc' } })).toBe('ARGUMENTS_NOT_ALLOWED');
  });

  it('requires every key that is not a plain identifier to match', async () => {
    const { t, agent } = await agentWith({ allowedArgPatterns: ['/data/**', 'two words'] });
    const reason = async (args: unknown) => {
      const { body } = await t.authorize(agent, { ...ask, arguments: args as object });
      return body.allowed || body.reason;
    };
    expect(await reason({ path: '/data/a', 'max-bytes': 1, 'x.y_Z': true })).toBe(true);
    expect(await reason({ '/data/a': true, 'two words': 1, nested: [{ '/data/b': null }] })).toBe(true);
    for (const key of [
      '/etc/passwd',
      '../x',
      '..',
      '/data/../etc',
      '/data/%2e%2e/etc',
      'C:\\x',
      'a b',
      'ü',
      '',
      'x'.repeat(65),
    ]) {
      expect([key, await reason({ path: '/data/a', [key]: true })]).toEqual([key, 'ARGUMENTS_NOT_ALLOWED']);
      expect([key, await reason({ deep: [{ er: { [key]: 1 } }] })]).toEqual([key, 'ARGUMENTS_NOT_ALLOWED']);
    }
    expect(await reason({ path: '/data/%2e%2e/etc/passwd' })).toBe('ARGUMENTS_NOT_ALLOWED');
  });

  it('does not count a call that a condition refuses', async () => {
    const { t, agent } = await agentWith({ allowedArgPatterns: ['ok'], maxCallsPerHour: 1 });
    for (let i = 0; i < 3; i++)
      expect((await t.authorize(agent, { ...ask, arguments: { a: 'no' } })).body.reason).toBe('ARGUMENTS_NOT_ALLOWED');
    expect((await t.authorize(agent, { ...ask, arguments: { a: 'ok' } })).body.allowed).toBe(true);
    expect((await t.authorize(agent, { ...ask, arguments: { a: 'ok' } })).body.reason).toBe('RATE_LIMITED');
  });

  it('allows a call that another matching entry allows', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const agent = await t.agent(owner, {
      permissions: [
        { resource: 'fs:*', actions: ['read'], constraints: { timeWindow: { start: '00:00', end: '00:01' } } },
        { resource: 'fs:x', actions: ['read'] },
      ],
    });
    expect((await t.authorize(agent, ask)).body.allowed).toBe(true);
  });

  it('400 names invalid constraints', async () => {
    const t = await createTestService();
    const owner = await t.user();
    for (const [constraints, path] of [
      [{ timeWindow: { start: '9:00', end: '17:00' } }, 'timeWindow.start'],
      [{ timeWindow: { start: '09:00', end: '24:00' } }, 'timeWindow.end'],
      [{ timeWindow: { start: '09:00' } }, 'timeWindow.end'],
      [{ timeWindow: { start: '09:00', end: '17:00', timeZone: 'Mars/Base' } }, 'timeWindow.timeZone'],
      [{ timeWindow: { start: '09:00', end: '17:00', timeZone: '+05:30' } }, 'timeWindow.timeZone'],
      [{ timeWindow: { start: '09:00', end: '17:00', days: ['someday'] } }, 'timeWindow.days.0'],
      [{ ipAllowlist: ['10.0.0.0/33'] }, 'ipAllowlist.0'],
      [{ ipAllowlist: [] }, 'ipAllowlist'],
      [{ allowedArgPatterns: ['x'.repeat(257)] }, 'allowedArgPatterns.0'],
      [{ maxCallsPerHour: -1 }, 'maxCallsPerHour'],
      [{ maxCallsPerHour: '3' }, 'maxCallsPerHour'],
    ] as const) {
      const r = await t.call('POST', '/agents', {
        as: owner,
        body: {
          ownerId: owner.id,
          name: 'a',
          type: 'service',
          permissions: [{ resource: 'a', actions: ['b'], constraints }],
        },
      });
      expect([r.status, r.body.error.details?.issues[0]?.path]).toEqual([400, `permissions.0.constraints.${path}`]);
    }
  });
});
