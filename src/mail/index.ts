export { createMailer, type Mail, type Mailer, type MailLog } from './mailer.ts';
