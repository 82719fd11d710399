import type { UserPrincipal } from '../../access/principal.ts';
import type { Call } from '../../http/route.ts';
import { CommonErrors, LegateError } from '../../kernel/errors.ts';
import { type Problem, textsFor } from '../../pages/index.ts';
import { ensureExternalUser, findUser } from '../../people/users/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { isLoopback, withParameters } from '../clients/redirect-uri.ts';
import { approve, deny, hasConsented, rememberedConsent } from '../consent/consent.ts';
import { NEW_AGENT } from '../consent/consent-agent.ts';
import { CONSENT_TOKEN, readConsentToken } from '../consent/consent-form.ts';
import { consentPage, scopeField } from '../consent/consent-page.ts';
import { type Recipient, RedirectedError, readAuthorizationRequest } from './authorization-request.ts';
import { isForPerson, refusedRequestPage, unanswerablePage } from './error-pages.ts';

export type Asking = Pick<Call<unknown, unknown, unknown>, 'request' | 'url' | 'requireUser'>;
export type Person = Awaited<ReturnType<Asking['requireUser']>>;

/** 302 or 303, never 307 or 308: those would send the person's form on to the client (RFC 9700, section 4.12). */
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

/** Answers a problem of the request: by redirect where that is safe, else on a page of our own. */
async function answering(
  platform: Platform,
  call: Asking,
  status: 302 | 303,
  work: () => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RedirectedError)
      return (await mayRedirect(platform, call, error.to))
        ? found(error.location, status)
        : refusedRequestPage(platform, call.request, error);
    if (error instanceof LegateError && isForPerson(error, call.request))
      return unanswerablePage(platform, call.request, error);
    throw error;
  }
}

/**
 * Whether an error may send the browser on without asking (RFC 9700, section 4.11.2; contract 12.11). A client that nobody vouches
 * for could otherwise use this service as an open redirector: it registers any address and sends a request that fails.
 */
export async function mayRedirect(
  platform: Platform,
  call: Asking,
  { client, redirectUri }: Recipient,
): Promise<boolean> {
  if (client.origin === 'admin' || isLoopback(redirectUri)) return true;
  const person = await signedIn(call);
  return person !== undefined && hasConsented(platform, person.principal.userId, client.id);
}

/** Path of our own consent page, below each path of the authorization endpoint. */
export const CONSENT = '/consent';

/**
 * `GET` of the authorization endpoint (specification 4.5; OAuth 2.1, section 4.1). Without a session it leads to the sign-in page
 * and back; with a consent that still holds, to the client; otherwise to the consent page.
 *
 * @param show the request is for our own consent page: it is shown instead.
 */
export function authorizePage(platform: Platform, call: Asking, show = false): Promise<Response> {
  return answering(platform, call, 302, async () => {
    const asked = await readAuthorizationRequest(platform, call.url.searchParams);
    const quiet = asked.prompt.has('none');
    const person = await signedIn(call);
    if (!person) {
      if (quiet) throw new RedirectedError(platform, asked, { error: 'login_required' });
      const own = platform.config.mcp.loginPage;
      if (own !== undefined)
        return found(withParameters(own, { returnTo: platform.baseUrl + call.url.pathname + call.url.search }), 302);
      throw CommonErrors.UNAUTHORIZED();
    }
    const agent = await rememberedConsent(platform, person.principal.userId, asked);
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
    if (quiet) throw new RedirectedError(platform, asked, { error: 'consent_required' });
    const page = platform.config.mcp.consentPage;
    if (page !== undefined) return found(`${page}${page.includes('?') ? '&' : '?'}${call.url.search.slice(1)}`, 302);
    if (!show) return found(call.url.pathname + CONSENT + call.url.search, 302);
    return consentPage(platform, call.request, asked, await shown(platform, person.principal));
  });
}

/** The form of the consent page. Sent again, it is answered as it was the first time. */
export function decideOnPage(
  platform: Platform,
  call: Asking,
  fields: Readonly<Record<string, string>>,
): Promise<Response> {
  return answering(platform, call, 303, async () => {
    const asked = await readAuthorizationRequest(platform, call.url.searchParams);
    const person = await call.requireUser();
    const by = {
      ...approvalBy(platform, person),
      form: readConsentToken(platform, person.principal, asked, fields[CONSENT_TOKEN]),
    };
    if (fields['decision'] !== 'allow') return found(await deny(platform, asked, by), 303);
    const scopes = asked.scopes.filter((scope) => fields[scopeField(scope)] !== undefined);
    const agent = fields['agent'] ?? NEW_AGENT;
    const t = textsFor(call.request);
    const again = async (problem: Problem): Promise<Response> =>
      consentPage(platform, call.request, asked, await shown(platform, person.principal), [problem], {
        scopes,
        agent,
      });
    if (scopes.length === 0) return again({ field: scopeField(asked.scopes[0] ?? ''), message: t.consent.atLeastOne });
    try {
      return found(await approve(platform, asked, { ...by, agent, scopes }), 303);
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

/** The person, and the proof of them inside the change. A user of the embedder's own sign-in becomes a bare record. */
export const approvalBy = (platform: Platform, { principal, reauthorize, actor }: Person) => ({
  userId: principal.userId,
  actor,
  reauthorize: async (db: Db): Promise<void> => {
    await reauthorize(db);
    if (principal.via === 'external') await ensureExternalUser(db, platform.clock.now(), principal);
  },
});

/** undefined: nobody is signed in. Throws 403 for a credential that is not a person's. */
async function signedIn(call: Asking): Promise<Person | undefined> {
  try {
    return await call.requireUser();
  } catch (error) {
    if (error instanceof LegateError && error.status === 401 && !call.request.headers.has('authorization'))
      return undefined;
    throw error;
  }
}

const shown = async (platform: Platform, principal: UserPrincipal) => ({
  principal,
  email: (await findUser(platform.database.read, principal.userId))?.email ?? null,
});
