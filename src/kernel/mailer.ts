export interface Mail {
  /** One address. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The link or code in the text. */
  readonly link?: string;
  readonly code?: string;
}

/** Sends mail. `operations/mail` implements it. */
export interface Mailer {
  /** False: nothing can be sent, and endpoints that need mail answer 503 MAIL_NOT_CONFIGURED. */
  readonly available: boolean;
  /**
   * Queues a mail and returns immediately. Returns false if too many are waiting and this one was dropped. Mails are
   * sent in the background with a few retries; a mail that cannot be sent is logged without its text.
   */
  send(mail: Mail): boolean;
  /** Resolves when no mail is waiting. */
  idle(): Promise<void>;
  /** Waits for mails being sent, at most this long: by default five seconds. Does not retry. */
  close(waitMs?: number): Promise<void>;
}
