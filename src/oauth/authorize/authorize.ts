import type { UserPrincipal } from '../../access/principal.ts';
import type { Call } from '../../http/route.ts';
import { CommonErrors, LegateError } from '../../kernel/errors.ts';
import { type Problem, textsFor } from '../../pages/index.ts';
import { ensureExternalUser, findUser } from '../../people/users/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { withParameters } from '../clients/redirect-uri.ts';
import { approve, rememberedConsent } from '../consent/consent.ts';
import { consentPage, scopeField } from '../consent/consent-page.ts';
import { answerLocation, RedirectedError, readAuthorizationRequest } from './authorization-request.ts';

type Asking = Pick<Call<unknown, unknown, unknown>, 'request' | 'url' | 'requireUser'>;
type Person = Awaited<ReturnType<Asking['requireUser']>>;

/** Neither 307 nor 308: the form of a person must never travel on (RFC 9700, section 4.12). */
const found = (location: string, status: 302 | 303): Response =>
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

/** Answers a problem of the request by redirect, where there is somebody to redirect to. */
async function redirecting(status: 302 | 303, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RedirectedError) return found(error.location, status);
    throw error;
  }
}

/** Of our own consent page, below the authorization endpoint by whichever of its paths. */
export const CONSENT = '/consent';

/**
 * `GET` of the authorization endpoint (specification 4.5; OAuth 2.1, section 4.1). Whoever is not signed in is led to the sign-in page and
 * back; whoever has agreed to exactly this before is sent on; everybody else is led to the consent page.
 *
 * @param show the request is for our own consent page: it is shown instead.
 */
export function authorizePage(platform: Platform, call: Asking, show = false): Promise<Response> {
  return redirecting(302, async () => {
    const asked = await readAuthorizationRequest(platform, call.url.searchParams);
    const quiet = asked.prompt.has('none');
    const deny = (error: string): Response => found(answerLocation(platform, asked, { error }), 302);
    const person = await signedIn(call);
    if (!person) {
      if (quiet) return deny('login_required');
      const own = platform.config.mcp.loginPage;
      if (own !== undefined)
        return found(withParameters(own, { returnTo: platform.baseUrl + call.url.pathname + call.url.search }), 302);
      throw CommonErrors.UNAUTHORIZED();
    }
    const { userId } = person.principal;
    const agent = await rememberedConsent(platform, userId, asked);
    if (agent !== undefined)
      return found(
        await approve(platform, asked, {
          ...approvalBy(platform, person),
          agent,
          scopes: asked.scopes,
          remembered: true,
        }),
        302,
      );
    if (quiet) return deny('consent_required');
    const page = platform.config.mcp.consentPage;
    if (page !== undefined) return found(`${page}${page.includes('?') ? '&' : '?'}${call.url.search.slice(1)}`, 302);
    if (!show) return found(call.url.pathname + CONSENT + call.url.search, 302);
    return consentPage(platform, call.request, asked, await shown(platform, userId));
  });
}

/** The form of the consent page. */
export function decideOnPage(
  platform: Platform,
  call: Asking,
  fields: Readonly<Record<string, string>>,
): Promise<Response> {
  return redirecting(303, async () => {
    const asked = await readAuthorizationRequest(platform, call.url.searchParams);
    const person = await call.requireUser();
    if (fields['decision'] !== 'allow') return found(answerLocation(platform, asked, { error: 'access_denied' }), 303);
    const scopes = asked.scopes.filter((scope) => fields[scopeField(scope)] !== undefined);
    const agent = fields['agent'] ?? 'new';
    const t = textsFor(call.request);
    const again = async (problem: Problem): Promise<Response> =>
      consentPage(platform, call.request, asked, await shown(platform, person.principal.userId), [problem], {
        scopes,
        agent,
      });
    if (scopes.length === 0) return again({ field: scopeField(asked.scopes[0] ?? ''), message: t.consent.atLeastOne });
    try {
      return found(await approve(platform, asked, { ...approvalBy(platform, person), agent, scopes }), 303);
    } catch (error) {
      if (error instanceof LegateError && (error.status === 422 || error.code === 'OAUTH_INVALID_REQUEST')) {
        return again({
          field: 'agent-0',
          message: error.code === 'OAUTH_INVALID_REQUEST' ? t.consent.wrongAgent : error.message,
        });
      }
      throw error;
    }
  });
}

/** Who confirms, and how they are proved again inside the change. A user of the embedder's own becomes a bare record. */
export const approvalBy = (platform: Platform, { principal, reauthorize }: Person) => ({
  userId: principal.userId,
  reauthorize: async (db: Db): Promise<void> => {
    await reauthorize(db);
    if (principal.via === 'external')
      await ensureExternalUser(db as Platform['database']['write'], platform.clock.now(), principal);
  },
});

/** undefined: nobody is signed in. Throws 403 for who is no person. */
async function signedIn(call: Asking): Promise<Person | undefined> {
  try {
    return await call.requireUser();
  } catch (error) {
    if (error instanceof LegateError && error.status === 401 && !call.request.headers.has('authorization'))
      return undefined;
    throw error;
  }
}

const shown = async (
  platform: Platform,
  userId: UserPrincipal['userId'],
): Promise<{ userId: string; email: string | null }> => ({
  userId,
  email: (await findUser(platform.database.read, userId))?.email ?? null,
});
