import { z } from 'zod';
import type { LegateError } from '../../kernel/errors.ts';
import { parseWith } from '../../kernel/json.ts';
import {
  actions,
  button,
  buttonLink,
  errorSummary,
  field,
  form,
  html,
  languageOf,
  notice,
  or,
  page,
  type Site,
  seeOther,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { InviteRow } from '../../storage/index.ts';
import { isTrustedFor, listSignInIssuers } from '../federation/index.ts';
import { getInvite } from '../invites/invites.ts';
import { startCookie } from '../sessions/index.ts';
import { deviceOf, formProblems, mayUsePassword, SignUp, signUp, UserErrors } from '../users/index.ts';
import { type AnyCall, answerForm, destination, formTargets, PATHS, waiting, withReturnTo } from './form.ts';
import { passwordsOffPage, providerButtons } from './other-ways.ts';

export const SignUpForm = z
  .strictObject({
    name: z.string().max(4096).optional(),
    email: z.string().max(4096),
    password: z.string().max(16_384),
  })
  .meta({ id: 'SignUpForm' });
type SignUpForm = z.output<typeof SignUpForm>;

/**
 * GET: the form, or the other ways if passwords are off. Invitation links open it with `?invite=` and `&email=`, and it
 * then has the identity providers that may vouch for the invited address. 403 SIGN_UP_CLOSED if only administrators
 * create accounts, INVITE_REQUIRED, INVITE_INVALID.
 */
export async function signUpPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database' | 'mailer' | 'stateOf' | 'waitingFor'>,
  call: AnyCall,
  tried?: { error: LegateError; form: SignUpForm },
): Promise<Response> {
  const { signUp: mode, passwords } = platform.config.users;
  if (mode === 'closed') throw UserErrors.SIGN_UP_CLOSED();
  const token = inviteIn(call);
  if (mode === 'invite' && token === undefined) throw UserErrors.INVITE_REQUIRED();
  const t = textsFor(call.request);
  if (token === undefined && passwords !== 'on') return passwordsOffPage(platform, call, t.signUp.title, tried?.error);
  const invite = token === undefined ? undefined : await findInviteFor(platform, token, tried !== undefined);
  const providers = invite
    ? (await listSignInIssuers(platform)).filter((issuer) => isTrustedFor(issuer, invite.email))
    : [];
  const byProvider = providers.length > 0 && providerButtons(platform, call, t, providers);
  if (invite && !mayUsePassword(platform, invite.role))
    return page(platform, call.request, {
      title: t.signUp.title,
      error: tried?.error,
      secretAddress: true,
      body: byProvider
        ? html`<p>${t.signUp.invited(invite.email)}</p>${byProvider}`
        : notice('warning', t.signUp.invitedNoWay),
    });
  const problems = tried ? formProblems(t, tried.error) : [];
  const signIn = withReturnTo(platform, call, PATHS.signIn);
  return page(platform, call.request, {
    title: t.signUp.title,
    error: tried?.error,
    formTargets: formTargets(platform, call),
    secretAddress: token !== undefined,
    body: html`${errorSummary(t, problems)}${await waiting(platform, call)}${form(
      call.url,
      html`${field(
        t,
        {
          name: 'name',
          label: t.common.name,
          autocomplete: 'name',
          value: tried?.form.name,
          maxlength: 200,
          required: false,
        },
        problems,
      )}
${field(
  t,
  {
    name: 'email',
    label: t.common.email,
    type: 'email',
    autocomplete: 'username',
    value: tried?.form.email ?? call.url.searchParams.get('email') ?? undefined,
  },
  problems,
)}
${field(
  t,
  {
    name: 'password',
    label: t.common.password,
    type: 'password',
    autocomplete: 'new-password',
    hint: t.common.newPasswordHint,
  },
  problems,
)}
${actions(button({ label: t.signUp.submit }))}`,
    )}${byProvider && html`${or(t)}${byProvider}`}
<p>${t.signUp.haveAccount} <a href="${signIn}">${t.signUp.signIn}</a></p>`,
  });
}

/**
 * Returns the invitation of a link, so that a link that is no longer valid says so before anything is filled in. After
 * the form was sent, this returns undefined for such a link where everybody may have a password, and the form reports
 * it.
 */
async function findInviteFor(
  platform: Pick<Platform, 'clock' | 'config' | 'database'>,
  token: string,
  sent: boolean,
): Promise<InviteRow | undefined> {
  try {
    return await getInvite(platform, token);
  } catch (error) {
    if (!sent || platform.config.users.passwords !== 'on') throw error;
    return undefined;
  }
}

const inviteIn = ({ url }: AnyCall): string | undefined => url.searchParams.get('invite') ?? undefined;

/** The same page for a new account and for an address that is already in use. */
function checkMailPage(site: Site, call: AnyCall, email: string, headers: Readonly<Record<string, string>>): Response {
  const { request } = call;
  const t = textsFor(request);
  return page(site, request, {
    title: t.signUp.checkMail,
    headers,
    body: html`${notice('good', t.signUp.checkMailText(email))}${actions(
      buttonLink(t.common.backToSignIn, withReturnTo(site, call, PATHS.signIn)),
    )}`,
  });
}

/** POST: creates the account, signs in and redirects. */
export const signUpForm = (platform: Platform, call: AnyCall & { readonly body: SignUpForm }): Promise<Response> =>
  answerForm(
    platform,
    call,
    async () => {
      const { name, ...rest } = call.body;
      const input = parseWith(SignUp, { ...rest, ...(name?.trim() ? { name: name.trim() } : {}) });
      const { advice, ...result } = await signUp(
        platform,
        { ...input, inviteToken: inviteIn(call) },
        deviceOf(call),
        languageOf(call.request),
      );
      if ('status' in result) return checkMailPage(platform, call, input.email, advice);
      return seeOther(
        destination(platform, call),
        { ...startCookie(platform, result.token, true), ...advice },
        result.cookies,
      );
    },
    (error) => signUpPage(platform, call, { error, form: call.body }),
  );
