import PostalMime from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterAll } from 'vitest';
import { untilPasses } from './until.ts';

export interface ReceivedMail {
  readonly to: readonly string[];
  readonly from: string;
  readonly subject: string;
  readonly text: string;
  readonly raw: string;
}

/** A real SMTP server on loopback, and the mail that it received. It is closed after the last test of the file. */
export interface Mailbox {
  readonly url: string;
  readonly mails: ReceivedMail[];
  /** Waits for a mail to an address that was not returned before, and returns the newest. */
  next(to: string): Promise<ReceivedMail>;
}

/** Options are passed to the SMTP server; `onData` and similar ones can make it fail. */
export async function openMailbox(options: SMTPServerOptions = {}): Promise<Mailbox> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    // Connections that the service keeps open are closed with the server instead of 30 seconds later.
    closeTimeout: 1,
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString('utf8');
        void PostalMime.parse(raw).then((mail) => {
          mails.push({
            to: session.envelope.rcptTo.map((r) => r.address),
            from: mail.from?.address ?? '',
            subject: mail.subject ?? '',
            text: mail.text ?? '',
            raw,
          });
          done();
        });
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const taken = new Set<ReceivedMail>();
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    next: (to) =>
      untilPasses(
        () => {
          const mail = mails.find((m) => !taken.has(m) && m.to.includes(to));
          if (!mail) throw new Error(`no further mail to ${to}`);
          taken.add(mail);
          return mail;
        },
        { interval: 5 },
      ),
  };
}

/** Returns the `token` in the link of a mail. */
export const tokenIn = (mail: ReceivedMail): string => /[?&]token=([A-Za-z0-9_-]+)/.exec(mail.text)?.[1] ?? '';
/** Returns the six-digit code in a mail. */
export const codeIn = (mail: ReceivedMail): string => /\b\d{6}\b/.exec(mail.text)?.[0] ?? '';
