import { getEventListeners } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openMailbox } from '../../../test/support/mailbox.ts';
import type { Mail } from '../../kernel/mailer.ts';
import { createMailer, type MailLog } from './mailer.ts';

const mail: Mail = {
  to: 'ada@example.com',
  subject: 'Hello',
  text: 'A text with ümlauts.\nAnd a second line: https://x.example/?a=b&c=d',
};

function newLog() {
  const lines: { level: string; fields: object; message: string }[] = [];
  const write = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { lines, log: { info: write('info'), warn: write('warn'), error: write('error') } satisfies MailLog };
}

describe('a mailer with an SMTP server', () => {
  it('sends a mail with its whole text, marked as automatic', async () => {
    const box = await openMailbox();
    const mailer = createMailer({
      url: box.url,
      from: 'Legate <legate@example.com>',
      print: undefined,
      log: newLog().log,
    });
    expect(mailer.available).toBe(true);
    mailer.send(mail);
    const got = await box.next(mail.to);
    expect(got).toMatchObject({ to: [mail.to], from: 'legate@example.com', subject: 'Hello' });
    expect(got.text.trim()).toBe(mail.text);
    expect(got.raw).toMatch(/^Auto-Submitted: auto-generated\r?$/m);
    await mailer.close();
  });

  it('does not let an address add a header or a recipient', async () => {
    const box = await openMailbox();
    const mailer = createMailer({
      url: box.url,
      from: 'legate@example.com',
      print: undefined,
      log: newLog().log,
      retryDelaysMs: [],
    });
    mailer.send({ ...mail, to: 'ada@example.com, eve@example.com' });
    mailer.send({ ...mail, subject: 'Hello\r\nBcc: eve@example.com' });
    await mailer.idle();
    for (const { to, raw } of box.mails) {
      expect(to).not.toContain('eve@example.com');
      expect(raw).not.toMatch(/^Bcc:/im);
    }
    await mailer.close();
  });

  it('retries temporary failures, and gives up on permanent ones', async () => {
    let refusals = 0;
    const refusing = (code: number, times: number) =>
      openMailbox({
        onRcptTo: (_address, _session, done) => {
          if (refusals++ < times) done(Object.assign(new Error('no'), { responseCode: code }));
          else done();
        },
      });
    const { lines, log } = newLog();
    const busy = await refusing(451, 2);
    const patient = createMailer({
      url: busy.url,
      from: 'l@example.com',
      print: undefined,
      log,
      retryDelaysMs: [1, 1, 1],
    });
    patient.send(mail);
    await patient.idle();
    expect(busy.mails).toHaveLength(1);
    expect(lines.map((l) => l.level)).toEqual(['warn', 'warn']);

    refusals = 0;
    const closed = await refusing(550, 1);
    const other = createMailer({
      url: closed.url,
      from: 'l@example.com',
      print: undefined,
      log,
      retryDelaysMs: [1, 1, 1],
    });
    other.send(mail);
    await other.idle();
    expect(closed.mails).toHaveLength(0);
    expect(lines.map((l) => l.level)).toEqual(['warn', 'warn', 'error']);
    expect(JSON.stringify(lines)).not.toContain('second line');
    await patient.close();
    await other.close();
  });

  it('keeps nothing of a wait for a retry that has ended', async () => {
    const signals: AbortSignal[] = [];
    class Watched extends AbortController {
      constructor() {
        super();
        signals.push(this.signal);
      }
    }
    vi.stubGlobal('AbortController', Watched);
    onTestFinished(() => void vi.unstubAllGlobals());
    const mailer = createMailer({
      url: 'smtp://127.0.0.1:1',
      from: 'l@example.com',
      print: undefined,
      log: newLog().log,
      retryDelaysMs: [1, 1],
    });
    const [closing] = signals;
    mailer.send(mail);
    await mailer.idle();
    expect(getEventListeners(closing as AbortSignal, 'abort')).toEqual([]);
    await mailer.close();
  });

  it('closes immediately while a mail waits for its retry', async () => {
    const { lines, log } = newLog();
    const mailer = createMailer({
      url: 'smtp://127.0.0.1:1',
      from: 'l@example.com',
      print: undefined,
      log,
      retryDelaysMs: [3_600_000],
    });
    mailer.send(mail);
    await mailer.close();
    mailer.send(mail);
    expect(lines.at(-1)?.message).toContain('dropped');
  });
});

describe('a mailer without a server', () => {
  it('prints in development', () => {
    const printed: Mail[] = [];
    const mailer = createMailer({
      url: undefined,
      from: 'l@example.com',
      print: (m) => printed.push(m),
      log: newLog().log,
    });
    expect(mailer.available).toBe(true);
    mailer.send(mail);
    expect(printed).toEqual([mail]);
  });

  it('is not available otherwise', () => {
    expect(createMailer({ url: undefined, from: 'l@example.com', print: undefined, log: newLog().log }).available).toBe(
      false,
    );
  });
});
