import { z } from 'zod';
import type { ErrorFactory, LegateError } from '../../kernel/errors.ts';
import { parseWith } from '../../kernel/json.ts';
import {
  actions,
  button,
  buttonLink,
  errorSummary,
  form,
  html,
  type Language,
  languageOf,
  notice,
  page,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { sendMagicLink } from '../sign-in/passwordless/index.ts';
import {
  forgotPassword,
  formProblems,
  MailRequest,
  requestVerification,
  signInDevice,
  UserErrors,
} from '../users/index.ts';
import { type AnyCall, answerForm, destination, emailField, PATHS, withReturnTo } from './form.ts';
import { passwordsOffPage } from './other-ways.ts';

const { MAIL_NOT_CONFIGURED, PASSWORDS_OFF } = UserErrors;

export const MailForm = z.strictObject({ email: z.string().max(4096) }).meta({ id: 'MailForm' });

/** A page with a form for an address to which something is mailed. */
export interface MailPage {
  /** Whether the mail is about a password, so that the page has no use while nobody may have one. */
  readonly needsPasswords?: boolean;
  readonly errors: readonly ErrorFactory[];
  readonly texts: (t: Texts) => {
    readonly title: string;
    readonly text: string;
    readonly submit: string;
    readonly sent: (email: string) => string;
  };
  readonly send: (platform: Platform, call: AnyCall, email: string, language: Language) => Promise<void>;
}

const ask = (email: string): MailRequest => parseWith(MailRequest, { email });

export const magicLinkPage: MailPage = {
  errors: [MAIL_NOT_CONFIGURED],
  texts: (t) => t.askMagicLink,
  send: (platform, call, email, language) => {
    const { knownDevice } = signInDevice(platform, call);
    // May be longer than a callbackURL: an authorization request with all its parameters.
    const callbackUrl = new URL(destination(platform, call), platform.baseUrl).href;
    return sendMagicLink(platform, { ...ask(email), callbackUrl }, language, knownDevice);
  },
};

export const forgotPasswordPage: MailPage = {
  needsPasswords: true,
  errors: [MAIL_NOT_CONFIGURED, PASSWORDS_OFF],
  texts: (t) => t.forgotPassword,
  send: (platform, call, email, language) =>
    forgotPassword(platform, ask(email), language, signInDevice(platform, call).knownDevice),
};

export const verifyEmailPage: MailPage = {
  errors: [MAIL_NOT_CONFIGURED],
  texts: (t) => t.askVerification,
  send: (platform, _, email, language) => requestVerification(platform, ask(email), language),
};

const isOff = ({ needsPasswords = false }: MailPage, { config }: Pick<Platform, 'config'>): boolean =>
  needsPasswords && config.users.passwords === 'off';

/** GET: the form. */
export async function mailPage(
  kind: MailPage,
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'mailer' | 'stateOf'>,
  call: AnyCall,
  tried?: { error: LegateError; email: string },
): Promise<Response> {
  const t = textsFor(call.request);
  const { title, text, submit } = kind.texts(t);
  if (isOff(kind, platform)) return passwordsOffPage(platform, call, title, tried?.error);
  const problems = tried ? formProblems(t, tried.error) : [];
  return page(platform, call.request, {
    title,
    error: tried?.error,
    body: html`${errorSummary(t, problems)}<p>${text}</p>${form(
      call.url,
      html`${emailField(t, tried?.email, problems)}
${actions(button({ label: submit }))}`,
    )}<p><a href="${withReturnTo(platform, call, PATHS.signIn)}">${t.common.backToSignIn}</a></p>`,
  });
}

/** POST: the answer is the same whether or not there is an account. */
export const mailForm = (
  kind: MailPage,
  platform: Platform,
  call: AnyCall & { readonly body: z.output<typeof MailForm> },
): Promise<Response> =>
  answerForm(
    platform,
    call,
    async () => {
      if (isOff(kind, platform)) throw PASSWORDS_OFF();
      const { email } = call.body;
      const t = textsFor(call.request);
      await kind.send(platform, call, email, languageOf(call.request));
      return page(platform, call.request, {
        title: t.signUp.checkMail,
        body: html`${notice('good', kind.texts(t).sent(email))}${actions(
          buttonLink(t.common.backToSignIn, withReturnTo(platform, call, PATHS.signIn)),
        )}`,
      });
    },
    (error) => mailPage(kind, platform, call, { error, email: call.body.email }),
  );
