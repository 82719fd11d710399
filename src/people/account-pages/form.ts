import { asUser } from '../../access/principal.ts';
import { logRefusal } from '../../http/render-error.ts';
import { LegateError } from '../../kernel/errors.ts';
import {
  field,
  type Html,
  notice,
  type PagePerson,
  type Problem,
  pathOf,
  redirectTargets,
  type Site,
  safeReturnTo,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Call, Platform } from '../../platform.ts';
import { pagePerson } from '../users/index.ts';

export type AnyCall = Call<unknown, unknown, unknown>;

/** Paths of the pages, below http.restPath. */
export const PATHS = {
  home: '/account',
  signIn: '/account/sign-in',
  signOut: '/account/sign-out',
  signUp: '/account/sign-up',
  secondFactor: '/account/second-factor',
  twoFactor: '/account/two-factor',
  trustedDevices: '/account/two-factor/devices',
  devices: '/account/devices',
  passkeys: '/account/passkeys',
  connections: '/account/connections',
  password: '/account/password',
  tokens: '/account/tokens',
  revokeToken: '/account/tokens/revoke',
  emailCode: '/account/email-code',
  useEmailCode: '/account/email-code/verify',
  magicLink: '/account/magic-link',
  forgotPassword: '/account/forgot-password',
  verifyEmail: '/account/verify-email',
  /** Served by the authorization server: the applications that act for the user. */
  apps: '/account/apps',
} as const;

/** Returns whether everybody may create an account with a password. */
export const offersSignUp = ({ config: { users } }: Pick<Platform, 'config'>): boolean =>
  users.signUp === 'open' && users.passwords === 'on';

/** The address of an account, the first field of a form. */
export const emailField = (t: Texts, value: string | undefined, problems: readonly Problem[]): Html =>
  field(
    t,
    { name: 'email', label: t.common.email, type: 'email', autocomplete: 'username', value, autofocus: true },
    problems,
  );

/** Runs the action of a form. Problems are shown on the page again; a client that sends JSON gets the error itself. */
export async function answerForm(
  platform: Pick<Platform, 'clock' | 'log'>,
  { request, requestId }: AnyCall,
  work: () => Promise<Response>,
  again: (error: LegateError) => Response | Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LegateError) || /^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
      throw error;
    logRefusal(platform, error, requestId);
    return again(error);
  }
}

/** Returns the signed-in user; undefined if there is none or the caller is not a user. */
export async function findPagePerson(
  platform: Pick<Platform, 'database'>,
  call: AnyCall,
): Promise<PagePerson | undefined> {
  try {
    const { principal } = await call.authenticateAs('enrolling');
    return principal.kind === 'user' ? await pagePerson(platform, principal) : undefined;
  } catch (error) {
    if (error instanceof LegateError && (error.status === 401 || error.status === 403)) return undefined;
    throw error;
  }
}

/** Returns the caller in the form that use cases need to check a password or a code. */
export const personCalling = ({ principal, reauthorize, ip, userAgent, actor }: AnyCall) => ({
  principal: asUser(principal),
  reauthorize,
  ip,
  userAgent,
  actor,
});

/** Returns the page the user wanted (`returnTo`) if it is on this service, otherwise their account page. */
export const destination = (site: Site, { url }: AnyCall): string =>
  safeReturnTo(site, url.searchParams.get('returnTo')) ?? pathOf(site, PATHS.home);

/** Returns the path of a page with the current `returnTo` added. */
export function withReturnTo(site: Site, { url }: AnyCall, path: string): string {
  const returnTo = safeReturnTo(site, url.searchParams.get('returnTo'));
  return pathOf(site, path) + (returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`);
}

/** Returns the addresses outside this service to which the form may redirect. */
export const formTargets = (site: Site, { url }: AnyCall): string[] =>
  redirectTargets(site, safeReturnTo(site, url.searchParams.get('returnTo')));

/** Returns the name of the application that waits for this sign-in. */
export async function waiting(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'waitingFor'>,
  call: AnyCall,
): Promise<Html | undefined> {
  const returnTo = safeReturnTo(platform, call.url.searchParams.get('returnTo'));
  const name = returnTo && (await platform.waitingFor(new URL(returnTo, platform.baseUrl)));
  return name ? notice('info', textsFor(call.request).signIn.waiting(name)) : undefined;
}
