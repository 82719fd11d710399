import { setTimeout as wait } from 'node:timers/promises';
import type { Transporter } from 'nodemailer';
import type { Mail, Mailer } from '../../kernel/mailer.ts';

export interface MailLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface MailerOptions {
  /** smtp:// or smtps://. undefined: `print` is used instead. */
  readonly url: string | undefined;
  readonly from: string;
  /** For development without an SMTP server. undefined: mail is not available. */
  readonly print: ((mail: Mail) => void) | undefined;
  readonly log: MailLog;
  readonly retryDelaysMs?: readonly number[];
}

const RETRY_DELAYS_MS = [2000, 15_000, 60_000];
const MAX_WAITING = 1000;
const CLOSING_MS = 5000;

/** Creates a mailer for SMTP or printing. No connection is opened before the first mail. */
export function createMailer({ url, from, print, log, retryDelaysMs = RETRY_DELAYS_MS }: MailerOptions): Mailer {
  const waiting = new Set<Promise<void>>();
  const closing = new AbortController();
  let transport: Promise<Transporter> | undefined;

  const open = async (address: string): Promise<Transporter> => {
    const { createTransport } = await import('nodemailer');
    const limits = {
      pool: true,
      maxConnections: 4,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 30_000,
      disableFileAccess: true,
      disableUrlAccess: true,
    };
    return createTransport({ ...limits, url: address });
  };

  const deliver = async (address: string, mail: Mail): Promise<void> => {
    for (let attempt = 0; ; attempt++) {
      try {
        transport ??= open(address);
        await (await transport).sendMail({
          from,
          to: { name: '', address: mail.to },
          subject: mail.subject,
          text: mail.text,
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        return;
      } catch (error) {
        const delay = retryDelaysMs[attempt];
        const final = delay === undefined || isFinal(error) || closing.signal.aborted;
        log[final ? 'error' : 'warn'](
          { err: error, subject: mail.subject, attempt: attempt + 1 },
          final ? 'a mail could not be sent' : 'a mail could not be sent and will be retried',
        );
        if (final) return;
        await pause(delay, closing.signal);
        if (closing.signal.aborted) return;
      }
    }
  };

  return {
    available: url !== undefined || print !== undefined,
    send(mail) {
      if (url === undefined) {
        print?.(mail);
        return true;
      }
      if (waiting.size >= MAX_WAITING || closing.signal.aborted) {
        log.error(
          { subject: mail.subject },
          'a mail was dropped, because too many are waiting or the service is stopping',
        );
        return false;
      }
      const sent = deliver(url, mail).finally(() => waiting.delete(sent));
      waiting.add(sent);
      return true;
    },
    async idle() {
      while (waiting.size > 0) await Promise.all(waiting);
    },
    async close(waitMs = CLOSING_MS) {
      closing.abort();
      const late = AbortSignal.timeout(waitMs);
      await Promise.race([
        this.idle(),
        new Promise((resolve) => late.addEventListener('abort', resolve, { once: true })),
      ]);
      (await transport)?.close();
    },
  };
}

/** Whether the server refused permanently (RFC 5321, section 4.2.1). */
const isFinal = (error: unknown): boolean => {
  const code = (error as { responseCode?: unknown }).responseCode;
  return typeof code === 'number' && code >= 500;
};

/** Resolves after the time, or when the signal is aborted. Does not keep the process alive. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(ms, undefined, { signal, ref: false }).catch(() => {});
