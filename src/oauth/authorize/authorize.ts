import type { UserPrincipal } from '../../access/principal.ts';
import { logRefusal } from '../../http/render-error.ts';
import { CommonErrors, LegateError } from '../../kernel/errors.ts';
import type { Change } from '../../ledger/index.ts';
import { type Problem, textsFor } from '../../pages/index.ts';
import { isEnterpriseManaged } from '../../people/federation/index.ts';
import { ensureExternalUser, findUser } from '../../people/users/index.ts';
import type { Call } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';
import { isLoopback, withParameters } from '../clients/redirect-uri.ts';
import { approve, deny, hasConsented, MANAGED } from '../consent/consent.ts';
import { NEW_AGENT } from '../consent/consent-agent.ts';
import { scopeField } from '../consent/consent-fields.ts';
import { CONSENT_TOKEN, readConsentToken } from '../consent/consent-form.ts';
import { consentPage } from '../consent/consent-page.ts';
import { approveRemembered } from '../consent/remembered-consent.ts';
import {
  type AuthorizationRequest,
  type Recipient,
  RedirectedError,
  readAuthorizationRequest,
} from './authorization-request.ts';
import { hasErrorPage, redirectErrorPage, requestErrorPage } from './error-pages.ts';

export type AuthorizeCall = Pick<Call<unknown, unknown, unknown>, 'request' | 'requestId' | 'url' | 'requireUser'>;
export type Person = Awaited<ReturnType<AuthorizeCall['requireUser']>>;

/** Never 307 or 308, which would repeat the person's form to the client (RFC 9700, section 4.12). */
const redirect = (location: string, status: 302 | 303): Response =>
  new Response(null, {
    status,
    headers: {
      location,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'content-security-policy': "frame-ancestors 'none'",
    },
  });

/** Returns an error of the request by redirect if that is safe, otherwise on an error page. */
async function withErrorResponses(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database' | 'log'>,
  call: AuthorizeCall,
  status: 302 | 303,
  work: () => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RedirectedError)
      return (await mayRedirect(platform, call, error.to))
        ? redirect(error.location, status)
        : redirectErrorPage(platform, call.request, error);
    if (error instanceof LegateError && hasErrorPage(error, call.request)) {
      logRefusal(platform, error, call.requestId);
      return requestErrorPage(platform, call.request, error);
    }
    throw error;
  }
}

/**
 * Returns whether an error may be redirected without a confirmation (RFC 9700, section 4.11.2; contract 12.11).
 * Otherwise this service would be an open redirector: anyone can register a client with any URI and send a request that
 * fails.
 */
export async function mayRedirect(
  platform: Pick<Platform, 'database'>,
  call: AuthorizeCall,
  { client, redirectUri }: Recipient,
): Promise<boolean> {
  if (client.origin === 'admin' || isLoopback(redirectUri)) return true;
  const person = await findPerson(call);
  return person !== undefined && hasConsented(platform, person.principal.userId, client.id);
}

/** Path of the built-in consent page, relative to each path of the authorization endpoint. */
export const CONSENT_PATH = '/consent';

/**
 * `GET` of the authorization endpoint (specification 4.5; OAuth 2.1, section 4.1). Redirects to the sign-in page
 * without a session, to the client if a remembered consent covers the request, and otherwise to the consent page.
 *
 * @param onConsentPage return the built-in consent page instead of a redirect to it.
 */
export function authorizePage(platform: Platform, call: AuthorizeCall, onConsentPage = false): Promise<Response> {
  return withErrorResponses(platform, call, 302, async () => {
    const authRequest = await readAuthorizationRequest(platform, call.url.searchParams);
    const quiet = authRequest.prompt.has('none');
    const person = await findPerson(call);
    if (!person) {
      if (quiet) throw new RedirectedError(platform, authRequest, { error: 'login_required' });
      const own = platform.config.mcp.loginPage;
      if (own !== undefined)
        return redirect(withParameters(own, { returnTo: platform.baseUrl + call.url.pathname + call.url.search }), 302);
      throw CommonErrors.UNAUTHORIZED();
    }
    if (person.principal.role === 'auditor')
      throw new RedirectedError(platform, authRequest, { error: 'access_denied' });
    await assertNotManaged(platform, authRequest, person);
    const location = await approveRemembered(platform, authRequest, approverOf(person));
    if (location !== undefined) return redirect(location, 302);
    if (quiet) throw new RedirectedError(platform, authRequest, { error: 'consent_required' });
    const page = platform.config.mcp.consentPage;
    if (page !== undefined) return redirect(`${page}${page.includes('?') ? '&' : '?'}${call.url.search.slice(1)}`, 302);
    if (!onConsentPage) return redirect(call.url.pathname + CONSENT_PATH + call.url.search, 302);
    return consentPage(platform, call.request, authRequest, await toConsentUser(platform, person.principal));
  });
}

/** Redirects back to the client with an error if the person's company decides about applications (contract 23.5). */
async function assertNotManaged(
  platform: Pick<Platform, 'database' | 'issuer' | 'stateOf'>,
  to: AuthorizationRequest,
  { principal }: Person,
): Promise<void> {
  if (await isEnterpriseManaged(platform, platform.database.read, principal.userId))
    throw new RedirectedError(platform, to, { error: 'access_denied', error_description: MANAGED });
}

/** Handles the form of the consent page. The same form sent again gets the first response again. */
export function decideOnPage(
  platform: Platform,
  call: AuthorizeCall,
  fields: Readonly<Record<string, string>>,
): Promise<Response> {
  return withErrorResponses(platform, call, 303, async () => {
    const authRequest = await readAuthorizationRequest(platform, call.url.searchParams);
    const person = await call.requireUser();
    const by = {
      ...approverOf(person),
      form: readConsentToken(platform, person.principal, authRequest, fields[CONSENT_TOKEN]),
    };
    if (fields['decision'] !== 'allow') return redirect(await deny(platform, authRequest, by), 303);
    await assertNotManaged(platform, authRequest, person);
    const scopes = authRequest.scopes.filter((scope) => fields[scopeField(scope)] !== undefined);
    const agent = fields['agent'] ?? NEW_AGENT;
    const t = textsFor(call.request);
    const showAgain = async (problem: Problem): Promise<Response> =>
      consentPage(platform, call.request, authRequest, await toConsentUser(platform, person.principal), [problem], {
        scopes,
        agent,
      });
    if (scopes.length === 0)
      return showAgain({ field: scopeField(authRequest.scopes[0] ?? ''), message: t.consent.atLeastOne });
    try {
      return redirect(await approve(platform, authRequest, { ...by, agent, scopes }), 303);
    } catch (error) {
      if (error instanceof LegateError && (error.status === 422 || error.code === 'OAUTH_INVALID_REQUEST')) {
        return showAgain({
          field: 'agent-0',
          message: error.code === 'OAUTH_INVALID_REQUEST' ? t.consent.wrongAgent : error.message,
        });
      }
      throw error;
    }
  });
}

/** Returns the approver. A user of the embedder's own sign-in gets a user record in the change. */
export const approverOf = ({ principal, reauthorize, actor }: Person) => ({
  userId: principal.userId,
  actor,
  reauthorize: async (change: Change): Promise<void> => {
    await reauthorize(change.db);
    if (principal.via === 'external') await ensureExternalUser(change, principal);
  },
});

/** Returns undefined if nobody is signed in. Throws 403 for a credential that is not a person's. */
async function findPerson(call: AuthorizeCall): Promise<Person | undefined> {
  try {
    return await call.requireUser();
  } catch (error) {
    if (error instanceof LegateError && error.status === 401 && !call.request.headers.has('authorization'))
      return undefined;
    throw error;
  }
}

const toConsentUser = async ({ database }: Pick<Platform, 'database'>, principal: UserPrincipal) => ({
  principal,
  email: (await findUser(database.read, principal.userId))?.email ?? null,
});
