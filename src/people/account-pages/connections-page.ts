import { z } from 'zod';
import { asUser } from '../../access/principal.ts';
import type { LegateError } from '../../kernel/errors.ts';
import { text } from '../../kernel/json.ts';
import {
  actions,
  button,
  buttonLink,
  card,
  errorSummary,
  form,
  formatTime,
  type Html,
  html,
  languageOf,
  list,
  messageOf,
  notice,
  page,
  pathOf,
  type Site,
  seeOther,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import {
  beginSignIn,
  type Connection,
  disconnect,
  getSignInIssuer,
  IssuerErrors,
  listConnections,
  listSignInIssuers,
} from '../federation/index.ts';
import { SessionErrors, withRecentSignIn } from '../sessions/index.ts';
import { sendNotice, sessionIdOf } from '../users/index.ts';
import { type AnyCall, answerForm, findPagePerson, PATHS } from './form.ts';
import { missingProofOf } from './missing-proof.ts';

/** `connect` is the name of an issuer, `remove` the address of one. */
export const ConnectionsForm = z
  .strictObject({
    action: z.enum(['connect', 'remove']),
    name: text(200, 0).default(''),
    issuer: text(2048, 0).default(''),
  })
  .meta({ id: 'ConnectionsForm' });
type ConnectionsForm = z.output<typeof ConnectionsForm>;

/** Errors that the page shows. */
export const connectionsPageErrors = [
  IssuerErrors.IDENTITY_NOT_FOUND,
  IssuerErrors.ISSUER_NOT_FOUND,
  IssuerErrors.LAST_WAY_IN,
  IssuerErrors.PROVIDER_UNAVAILABLE,
  SessionErrors.REAUTHENTICATION_REQUIRED,
];

/** GET: the identity providers to which the account is connected or can be connected. */
export async function connectionsPage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'stateOf'>,
  call: AnyCall,
  error?: LegateError,
): Promise<Response> {
  const t = textsFor(call.request);
  const { userId, via } = asUser(call.principal);
  const hasSession = via === 'session';
  const own = hasSession ? await listConnections(platform, userId) : [];
  const others = hasSession
    ? (await listSignInIssuers(platform)).filter(({ issuer }) => own.every((each) => each.issuer !== issuer))
    : [];
  const isLate = error?.code === SessionErrors.REAUTHENTICATION_REQUIRED.code;
  const late = (reason: unknown): string =>
    missingProofOf(reason) === 'passkey' ? t.passkeys.passkeyFirst : t.identities.signInFirst;
  const problems = error ? [{ message: isLate ? late(error) : messageOf(t, error) }] : [];
  const done = { added: t.identities.added, removed: t.identities.removed }[call.url.searchParams.get('done') ?? ''];
  const here = pathOf(platform, PATHS.connections);
  const again = `${pathOf(platform, PATHS.signIn)}?returnTo=${encodeURIComponent(here)}`;
  const cards = own.map((connection) => connectionCard(platform, call, t, connection));
  const offers = others.map(({ name }) =>
    form(here, actions(button({ label: t.identities.connect(name) })), { action: 'connect', name }),
  );
  const body = html`${
    cards.length > 0 ? html`<p>${t.identities.intro}</p>${list(cards)}` : html`<p>${t.identities.none}</p>`
  }${isLate ? actions(buttonLink(t.passkeys.signInAgain, again, 'primary')) : offers}`;
  return page(platform, call.request, {
    title: t.identities.title,
    error,
    person: await findPagePerson(platform, call),
    inAccount: true,
    body: html`${errorSummary(t, problems)}${done !== undefined && !error && notice('good', done)}${
      hasSession ? body : notice('info', t.identities.external)
    }`,
  });
}

function connectionCard(
  site: Site,
  { request }: AnyCall,
  t: Texts,
  { issuer, name = issuer, createdAt, usedAt }: Connection,
): Html {
  const date = (time: number): string => formatTime(request, time, 'date');
  const remove = button({ label: t.identities.remove, kind: 'danger', spoken: t.identities.removeSpoken(name) });
  return card({
    title: name,
    lines: [issuer, `${t.identities.connectedOn(date(createdAt))}. ${t.identities.lastUsed(date(usedAt))}.`],
    actions: form(pathOf(site, PATHS.connections), remove, { action: 'remove', issuer }),
  });
}

/** POST: removes a connection, or leads to the provider to connect. */
export const connectionsForm = (
  platform: Platform,
  call: AnyCall & { readonly body: ConnectionsForm },
): Promise<Response> =>
  answerForm(
    platform,
    call,
    async () => {
      const { userId } = asUser(call.principal);
      sessionIdOf(call.principal);
      const person = { userId, actor: call.actor, reauthorize: withRecentSignIn(platform, call) };
      const { action, name, issuer } = call.body;
      const here = pathOf(platform, PATHS.connections);
      if (action === 'remove') {
        const user = await disconnect(platform, person, issuer);
        sendNotice(platform, user, languageOf(call.request), (texts, brand) => texts.connectionRemoved(brand, issuer));
        return seeOther(`${here}?done=removed`);
      }
      await person.reauthorize(platform.database.read);
      return leadTo(platform, call, name, here);
    },
    (error) => connectionsPage(platform, call, error),
  );

/**
 * A page that redirects to a provider immediately. A redirect as the answer to the form would need the origin of the
 * provider in the Content Security Policy.
 */
async function leadTo(platform: Platform, call: AnyCall, name: string, here: string): Promise<Response> {
  const t = textsFor(call.request);
  const issuer = await getSignInIssuer(platform, name);
  const { location, cookie } = await beginSignIn(platform, issuer, here, asUser(call.principal).userId);
  return page(platform, call.request, {
    title: t.identities.title,
    person: await findPagePerson(platform, call),
    headers: { refresh: `0; url=${location}`, 'set-cookie': cookie },
    body: html`<p>${t.identities.leading(name)}</p>${actions(
      buttonLink(t.identities.goOn(name), location, 'primary'),
    )}`,
  });
}
