import { describe, expect, it } from 'vitest';
import { openLoopback } from './loopback.ts';
import { parseChallenges } from './parse-challenge.ts';

describe('the loopback address', () => {
  it('returns only the parameters that a browser sends back', async () => {
    const loopback = await openLoopback();
    try {
      expect((await fetch(new URL('/favicon.ico', loopback.redirectUri))).status).toBe(404);
      const waiting = loopback.wait(5000);
      expect((await fetch(`${loopback.redirectUri}?code=c&state=s`)).status).toBe(200);
      expect(String(await waiting)).toBe('code=c&state=s');
    } finally {
      await loopback.close();
    }
  });

  it('times out', async () => {
    const loopback = await openLoopback();
    await expect(loopback.wait(1)).rejects.toThrow('The login was not completed in time');
    await loopback.close();
  });
});

describe('WWW-Authenticate', () => {
  it.each([
    ['Bearer', [['Bearer', {}]]],
    ['Bearer a="b", c="d e"', [['Bearer', { a: 'b', c: 'd e' }]]],
    ['Bearer a="x, y=\\"z\\""', [['Bearer', { a: 'x, y="z"' }]]],
    [
      'Basic realm="r", Bearer a=b',
      [
        ['Basic', { realm: 'r' }],
        ['Bearer', { a: 'b' }],
      ],
    ],
    [
      'bearer A = "b" , Negotiate',
      [
        ['bearer', { a: 'b' }],
        ['Negotiate', {}],
      ],
    ],
    ['', []],
    ['"', []],
  ])('%s', (header, wanted) => {
    expect(parseChallenges(header).map((c) => [c.scheme, Object.fromEntries(c.parameters)])).toEqual(wanted);
  });
});
