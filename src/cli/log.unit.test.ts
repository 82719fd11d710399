import { describe, expect, it } from 'vitest';
import { cpuTimer } from '../../test/support/cpu.ts';
import { newSecret, SECRET_PREFIXES, type SecretKind } from '../kernel/secrets.ts';
import { createLog, printMail } from './log.ts';

/** Returns what a call writes at a level. */
function written(level: Parameters<typeof createLog>[0], call: (log: ReturnType<typeof createLog>) => void): string {
  let text = '';
  call(createLog(level, { write: (line) => (text += line) }));
  return text;
}

describe('createLog', () => {
  it('writes JSON lines with level, time and message', () => {
    const line = JSON.parse(written('info', (log) => log.warn({ agentId: 'agt_1', count: 3 }, 'a message')));
    expect(line).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      agentId: 'agt_1',
      count: 3,
      msg: 'a message',
    });
  });

  it('leaves out lines below its level', () => {
    expect(written('warn', (log) => log.info({}, 'x'))).toBe('');
    expect(written('silent', (log) => log.error({}, 'x'))).toBe('');
  });

  it('keeps type, message, stack and cause of an error', () => {
    const error = new TypeError('outer', { cause: new Error('inner') });
    const { err } = JSON.parse(written('info', (log) => log.error({ err: error }, 'x')));
    expect(err).toMatchObject({
      type: 'TypeError',
      message: expect.stringContaining('outer'),
      stack: expect.stringContaining('inner'),
    });
  });

  const secrets: [string, string, (log: ReturnType<typeof createLog>, secret: string) => void][] = [
    [
      'an Authorization header',
      'Bearer abcdefghijklmnop',
      (log, s) => log.info({ headers: { authorization: s } }, 'x'),
    ],
    ['a cookie', 'legate_session=abc', (log, s) => log.info({ headers: { cookie: s } }, 'x')],
    ['a password', 'correct horse', (log, s) => log.info({ body: { email: 'a@example.com', password: s } }, 'x')],
    ['a nested token', 'abc123', (log, s) => log.info({ a: [{ accessToken: s }] }, 'x')],
    ...(Object.keys(SECRET_PREFIXES) as SecretKind[]).map((kind): (typeof secrets)[number] => [
      `a secret of the kind ${kind} in a message`,
      newSecret(kind),
      (log, s) => log.info({}, `failed for ${s}.`),
    ]),
    ['our token as a value', newSecret('agentToken'), (log, s) => log.info({ value: s }, 'x')],
    ['our token in the message', newSecret('apiToken'), (log, s) => log.info({}, `failed for ${s}.`)],
    [
      'our token in an error',
      newSecret('sessionToken'),
      (log, s) => log.error({ err: new Error(`no session ${s}`) }, 'x'),
    ],
    [
      'a token in an address',
      'tok-en',
      (log, s) => log.info({ url: `/api/events/stream?types=audit&token=${s}&since=1` }, 'x'),
    ],
    ['a set-up link', newSecret('setupToken'), (log, s) => log.info({ url: `http://localhost/setup?token=${s}` }, 'x')],
    ['a Bearer value in a text', 'abcdefgh.ijklm', (log, s) => log.info({}, `sent "authorization: Bearer ${s}"`)],
    [
      'the password of a database',
      'pa55word',
      (log, s) => log.error({ err: new Error(`cannot connect to postgres://legate:${s}@db:5432/legate`) }, 'x'),
    ],
    ['a JWT with a long header', `eyJ${'a'.repeat(5000)}.eyJzdWIiOiJhIn0.c2lnbmF0dXJl`, (log, s) => log.info({}, s)],
    ['a JWT after a name', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln', (log, s) => log.info({}, `proof-${s}`)],
    ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl', (log, s) => log.info({}, `got ${s}`)],
  ];
  it.each(['a', 'eyJ-', '-eyJ', 'eyJ.', 'a://', 'a:', '://a:', 'bearer ', '?token=', 'lgt_'])(
    'writes a long text of %j with little effort',
    (part) => {
      const text = part.repeat(30_000 / part.length);
      const used = cpuTimer();
      written('info', (log) => log.warn({ err: new Error(text) }, 'x'));
      expect(used()).toBeLessThan(1000);
    },
  );

  it.each(secrets)('never writes %s', (_, secret, call) => {
    const line = written('info', (log) => call(log, secret));
    expect(line).not.toContain(secret);
    expect(line).toContain('[REDACTED]');
    expect(() => JSON.parse(line)).not.toThrow();
  });
});

describe('printMail', () => {
  it('leaves link and code readable, as one JSON line, unless the log is silent', () => {
    const mail = {
      to: 'ada@example.com',
      subject: 'Sign in',
      text: 'Your code: 123456',
      link: `http://localhost/x?token=${newSecret('oneTimeToken')}`,
      code: '123456',
    };
    let text = '';
    printMail({ level: 'silent' }, mail, (line) => (text += line));
    expect(text).toBe('');
    printMail({ level: 'info' }, mail, (line) => (text += line));
    expect(JSON.parse(text)).toMatchObject(mail);
    expect(text.trimEnd()).not.toContain('\n');
  });
});
