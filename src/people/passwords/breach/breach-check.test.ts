import type { ServerResponse } from 'node:http';
import { pwnedPassword } from 'hibp';
import { describe, expect, it } from 'vitest';
import { openRangeServer, type RangeServer, sha1 } from '../../../../test/support/range-server.ts';
import { type BreachCheckOptions, createBreachCheck } from '../../../index.ts';

const KNOWN = { password: 10_434_004, 'correct horse battery staple': 2, pässwörd: 7, 密码密码密码: 3, 'P@ssw0rd': 1 };
const text = (res: ServerResponse, body: string, status = 200, type = 'text/plain'): void =>
  void res.writeHead(status, { 'content-type': type }).end(body);

async function withServer(
  options: BreachCheckOptions = {},
): Promise<{ server: RangeServer; breach: ReturnType<typeof createBreachCheck>; reasons: string[] }> {
  const server = await openRangeServer(KNOWN);
  const reasons: string[] = [];
  return {
    server,
    reasons,
    breach: createBreachCheck({
      baseUrl: server.url,
      timeout: 2000,
      onUnavailable: (reason) => void reasons.push(reason),
      ...options,
    }),
  };
}

describe('check', () => {
  it('finds the same passwords as the hibp package, with the same counts', async () => {
    const { server, breach } = await withServer();
    for (const password of [...Object.keys(KNOWN), 'nobody ever used this one', '', 'x'.repeat(5000)]) {
      const count = await pwnedPassword(password, { baseUrl: server.url, addPadding: true });
      expect(await breach.check(password)).toEqual({ breached: count > 0, count });
    }
  });

  it('sends only five characters of the hash, and requests padding', async () => {
    const { server, breach } = await withServer({ apiKey: 'key-1' });
    await breach.check('password');
    expect(server.asked.map(({ path }) => path)).toEqual([`/range/${sha1('password').slice(0, 5)}`]);
    const { headers } = server.asked[0] as RangeServer['asked'][number];
    expect(headers).toMatchObject({
      'add-padding': 'true',
      'user-agent': expect.stringMatching(/^legate\/\d/),
      'hibp-api-key': 'key-1',
    });
    expect(JSON.stringify(server.asked).toUpperCase()).not.toContain(sha1('password').slice(5, 20));
  });

  it('ignores padding, which has count 0', async () => {
    const { server, breach } = await withServer();
    server.answer = (res, list) =>
      text(res, `${sha1('password').slice(5)}:0\r\n${list.replace(sha1('password').slice(5), 'A'.repeat(35))}`);
    expect(await breach.check('password')).toEqual({ breached: false, count: 0 });
    await expect(breach.enforce('password')).resolves.toBeUndefined();
  });

  it.each([
    ['lower case', (list: string) => list.toLowerCase()],
    ['line feeds only', (list: string) => list.replaceAll('\r', '')],
    ['an empty line at the end', (list: string) => `${list}\r\n\r\n`],
    ['the same hash twice, once as padding', (list: string) => `${sha1('password').slice(5)}:0\r\n${list}`],
    ['an additional invalid line', (list: string) => `<html>\r\n${list}`],
  ])('reads %s', async (_, change) => {
    const { server, breach } = await withServer();
    server.answer = (res, list) => text(res, change(list));
    expect(await breach.check('password')).toEqual({ breached: true, count: KNOWN.password });
  });

  it('never throws for any input', async () => {
    const { breach } = await withServer();
    for (const odd of [undefined, null, 1, {}, '\ud800', '\0'])
      expect(await breach.check(odd as string)).toEqual({ breached: false, count: 0 });
  });
});

describe('enforce', () => {
  it('422 PASSWORD_BREACHED from minBreachCount on', async () => {
    const { server, breach } = await withServer();
    await expect(breach.enforce('password')).rejects.toMatchObject({
      code: 'PASSWORD_BREACHED',
      status: 422,
      details: { count: KNOWN.password },
    });
    await expect(breach.enforce('P@ssw0rd')).rejects.toMatchObject({ code: 'PASSWORD_BREACHED' });
    await expect(breach.enforce('nobody ever used this one')).resolves.toBeUndefined();
    const often = createBreachCheck({ baseUrl: server.url, minBreachCount: 3 });
    await expect(often.enforce('correct horse battery staple')).resolves.toBeUndefined();
    await expect(often.enforce('密码密码密码')).rejects.toMatchObject({
      code: 'PASSWORD_BREACHED',
      details: { count: 3 },
    });
    expect(await often.check('correct horse battery staple')).toEqual({ breached: true, count: 2 });
  });

  it('accepts only strings', async () => {
    const { breach } = await withServer();
    await expect(breach.enforce(undefined as unknown as string)).rejects.toThrow(TypeError);
  });
});

describe('a service', () => {
  const broken: [string, (res: ServerResponse, list: string) => void][] = [
    ['says 500', (res, list) => text(res, list, 500)],
    ['says 404', (res) => text(res, '', 404)],
    ['says 429', (res) => text(res, '', 429)],
    ['redirects elsewhere', (res) => void res.writeHead(302, { location: 'https://portal.example/' }).end()],
    [
      'answers 200 with a page',
      (res) => text(res, '<!doctype html><title>Sign in to the network</title>', 200, 'text/html'),
    ],
    ['has an invalid line and not the hash', (res) => text(res, `${'A'.repeat(35)}:1\r\n${'B'.repeat(20)}`)],
    ['has counts that are not numbers', (res) => text(res, `${'A'.repeat(35)}:many`)],
    ['sends too much', (res) => text(res, `${'A'.repeat(35)}:1\r\n`.repeat(10_000))],
    [
      'breaks the connection midway',
      (res, list) => void res.writeHead(200, { 'content-length': 100_000 }).write(list, () => res.destroy()),
    ],
    ['closes the connection', (res) => void res.destroy()],
    ['never responds', () => {}],
    ['never ends', (res, list) => void res.writeHead(200).write(list)],
    [
      'drips',
      (res) => {
        res.writeHead(200);
        const drip = setInterval(() => res.write(`${'A'.repeat(35)}:1\r\n`), 10);
        res.on('close', () => clearInterval(drip));
      },
    ],
  ];

  it.each(broken)('that %s counts as unreachable', async (_, answer) => {
    const { server, breach, reasons } = await withServer({ timeout: 60 });
    server.answer = answer;
    const started = performance.now();
    expect(await breach.check('password')).toEqual({ breached: false, count: 0 });
    expect(performance.now() - started).toBeLessThan(1500);
    await expect(breach.enforce('P@ssw0rd')).resolves.toBeUndefined();
    expect(reasons).toHaveLength(2);
    for (const password of ['password', 'P@ssw0rd'])
      expect(reasons.join()).not.toMatch(new RegExp(`${sha1(password).slice(0, 5)}|${password}`));

    const closed = createBreachCheck({ baseUrl: server.url, timeout: 60, failClosed: true });
    await expect(closed.enforce('password')).rejects.toMatchObject({ code: 'PASSWORD_CHECK_UNAVAILABLE', status: 503 });
    expect(await closed.check('password')).toEqual({ breached: false, count: 0 });
  });

  it('that does not exist counts as unreachable', async () => {
    const breach = createBreachCheck({ baseUrl: 'http://127.0.0.1:1', failClosed: true });
    expect(await breach.check('password')).toEqual({ breached: false, count: 0 });
    await expect(breach.enforce('password')).rejects.toMatchObject({ code: 'PASSWORD_CHECK_UNAVAILABLE' });
  });

  it('that returns an empty response knows no hash of the range', async () => {
    const { server, breach } = await withServer({ failClosed: true });
    server.answer = (res) => text(res, '');
    await expect(breach.enforce('password')).resolves.toBeUndefined();
  });

  it('whose fetch ignores its signal times out nevertheless', async () => {
    const breach = createBreachCheck({ timeout: 30, fetch: () => new Promise(() => {}) });
    expect(await breach.check('password')).toEqual({ breached: false, count: 0 });
  });
});

describe('look-ups', () => {
  it('request a range once when concurrent, and once a day', async () => {
    let now = 1_000_000;
    const { server, breach } = await withServer({ now: () => now });
    await Promise.all(Array.from({ length: 50 }, () => breach.check('password')));
    now += 24 * 3600_000 - 1;
    await breach.check('password');
    expect(server.asked).toHaveLength(1);
    now += 2;
    await breach.check('password');
    expect(server.asked).toHaveLength(2);
  });

  it('ask again for a range that had invalid lines', async () => {
    const { server, breach } = await withServer({ failClosed: true });
    const { answer } = server;
    server.answer = (res) => text(res, `${'A'.repeat(35)}:1\r\n<html>`);
    await expect(breach.enforce('password')).rejects.toMatchObject({ code: 'PASSWORD_CHECK_UNAVAILABLE' });
    server.answer = answer;
    await expect(breach.enforce('password')).rejects.toMatchObject({ code: 'PASSWORD_BREACHED' });
  });

  it('are cached up to a limit', async () => {
    let asked = 0;
    const big = Array.from({ length: 5000 }, (_, i) => `${i.toString(16).toUpperCase().padStart(35, '0')}:1`).join(
      '\n',
    );
    const breach = createBreachCheck({
      fetch: async () => {
        asked++;
        return new Response(big);
      },
    });
    const passwords = Array.from({ length: 60 }, (_, i) => `password ${i}`);
    for (const password of passwords) await breach.check(password);
    expect(asked).toBe(60);
    for (const password of passwords) await breach.check(password);
    // 8 MB contain 40 ranges of 200 KB. Read in turn, each range has been evicted before it is read again.
    expect(asked).toBe(120);
    await breach.check(passwords.at(-1) as string);
    expect(asked).toBe(120);
  });

  it('time out three times in an outage, then are suspended for ten seconds, then time out once more', async () => {
    let now = 0;
    let asked = 0;
    let isOut = true;
    const breach = createBreachCheck({
      timeout: 50,
      now: () => now,
      // The network is not used, because it may take longer than the timeout on a busy machine.
      fetch: async (url, init) => {
        asked++;
        if (isOut) await new Promise((_, reject) => init?.signal?.addEventListener('abort', reject));
        const known = ['password', 'P@ssw0rd'].map(sha1).find((hash) => String(url).endsWith(hash.slice(0, 5)));
        return new Response(`${known?.slice(5) ?? 'A'.repeat(35)}:3`);
      },
    });
    for (let i = 0; i < 3; i++) await breach.check(`password ${i}`);
    const quick = async (): Promise<void> => {
      const before = asked;
      await Promise.all(Array.from({ length: 100 }, (_, i) => breach.check(`password ${i}`)));
      expect(asked).toBe(before);
    };
    await quick();
    expect(asked).toBe(3);
    now += 10_000;
    await Promise.all(Array.from({ length: 100 }, (_, i) => breach.check(`password ${i}`)));
    expect(asked).toBe(4);
    await quick();
    now += 10_000;
    isOut = false;
    expect(await breach.check('password')).toMatchObject({ breached: true });
    expect(await breach.check('P@ssw0rd')).toMatchObject({ breached: true });
    expect(asked).toBe(6);
  });

  it('are suspended no longer when the clock is set back meanwhile', async () => {
    let now = 3_600_000;
    const { server, breach } = await withServer({ now: () => now });
    server.answer = (res) => text(res, '', 500);
    for (let i = 0; i < 3; i++) await breach.check(`password ${i}`);
    server.answer = undefined;
    expect((await breach.check('password')).breached).toBe(false);
    now = 0;
    expect((await breach.check('password')).breached).toBe(true);
  });

  it('one or two failed look-ups do not affect the next ones', async () => {
    const { server, breach } = await withServer({ timeout: 30_000 });
    for (let i = 0; i < 4; i++) {
      server.answer = (res) => res.destroy();
      for (const n of [1, 2]) expect(await breach.check(`password ${i}.${n}`)).toEqual({ breached: false, count: 0 });
      server.answer = undefined;
      await expect(breach.enforce(['password', 'P@ssw0rd', 'password', 'P@ssw0rd'][i] as string)).rejects.toMatchObject(
        { code: 'PASSWORD_BREACHED' },
      );
      await breach.check(`another ${i}`);
    }
  });

  it('waiting look-ups end when the circuit breaker opens', async () => {
    const { server, breach } = await withServer({ timeout: 1000 });
    server.answer = () => {};
    const ends: number[] = [];
    const check = (i: number) => breach.check(`password ${i}`).then(() => ends.push(i));
    const first = [0, 1, 2].map(check);
    await new Promise((resolve) => setTimeout(resolve, 500));
    // Its own timeout would end it half a second after the others.
    const last = check(3);
    const others = Promise.all(first).then(() => new Promise((resolve) => setTimeout(resolve, 100)));
    await Promise.race([last, others]);
    expect(ends).toContain(3);
    await Promise.all([last, others]);
  });

  it('three failures in a row open the circuit breaker; a response in between resets the count', async () => {
    const { server, breach } = await withServer();
    const fail = (res: ServerResponse): void => text(res, '', 500);
    const look = async (n: number, answer: RangeServer['answer']): Promise<number> => {
      server.answer = answer;
      await breach.check(`password ${n}`);
      return server.asked.length;
    };
    expect(await look(1, fail)).toBe(1);
    expect(await look(2, fail)).toBe(2);
    expect(await look(3, undefined)).toBe(3);
    expect(await look(4, fail)).toBe(4);
    expect(await look(5, fail)).toBe(5);
    expect(await look(6, fail)).toBe(6);
    expect(await look(7, fail)).toBe(6);
  });
});

describe('options', () => {
  it.each([
    [{ timeout: 0 }, /timeout/],
    [{ timeout: 1.5 }, /timeout/],
    [{ minBreachCount: 0 }, /minBreachCount/],
    [{ baseUrl: 'ftp://x.example' }, /baseUrl/],
    [{ baseUrl: 'https://x.example/range' }, /baseUrl.*without \/range/],
    [{ failClosed: 'yes' as unknown as boolean }, /failClosed/],
  ])('%j is refused', (options, message) => {
    expect(() => createBreachCheck(options)).toThrow(message);
  });

  it('asks the public service by default, and accepts an address with a trailing slash', async () => {
    const asked: string[] = [];
    const fetch = async (url: unknown): Promise<Response> => {
      asked.push(String(url));
      return new Response('');
    };
    await createBreachCheck({ fetch: fetch as typeof globalThis.fetch }).check('password');
    await createBreachCheck({ fetch: fetch as typeof globalThis.fetch, baseUrl: 'https://x.example/a/' }).check(
      'password',
    );
    expect(asked).toEqual(['https://api.pwnedpasswords.com/range/5BAA6', 'https://x.example/a/range/5BAA6']);
  });
});
