/**
 * Sends mail over SMTP, or prints it in development. Sending happens in the background with retries and a bounded
 * queue. The texts are in `people/sign-in/mail-texts.ts`.
 */
export type { Mail } from '../../kernel/mailer.ts';
export { createMailer } from './mailer.ts';
