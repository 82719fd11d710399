import { asUser } from '../../../access/principal.ts';
import { CommonErrors, type Issue, LegateError } from '../../../kernel/errors.ts';
import {
  actions,
  button,
  buttonLink,
  card,
  errorSummary,
  field,
  form,
  formatTime,
  type Html,
  html,
  list,
  notice,
  type Problem,
  page,
  pathOf,
  seeOther,
  textsFor,
} from '../../../pages/index.ts';
import { browserCookie, pagePerson } from '../../../people/users/index.ts';
import type { Call, Platform } from '../../../platform.ts';
import { ConnectionErrors } from './errors.ts';
import {
  deleteConnection,
  getConnectable,
  getConnection,
  listConnections,
  putConnection,
  storeSignIn,
} from './manage-connections.ts';
import { beginSignIn, endSignIn, type SignInAnswer, STATE_LIFE_MS } from './oauth/authorize.ts';
import { connectPath } from './open-for.ts';

/**
 * Binds a sign-in at another server to the browser in which it began. Each server has its own cookie, because two
 * sign-ins that begin at the same time set it without seeing each other.
 */
const signInCookie = (server: string) => browserCookie(`gateway-sign-in-${server}`, STATE_LIFE_MS);

type PageCall = Call<{ name: string }, unknown, unknown>;

/** Prefix that distinguishes secrets from other fields of the form. */
const inputOf = (name: string): string => `secret-${name}`;

const callerOf = (call: Call<unknown, unknown, unknown>) => ({
  reauthorize: call.reauthorize,
  actor: call.actor,
  principal: asUser(call.principal),
});

/** GET: the credentials that the server needs from the signed-in person, and whether they are connected. */
export const connectPage = (
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'secrets' | 'stateOf'>,
  call: PageCall,
): Promise<Response> => show(platform, call);

async function show(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'secrets' | 'stateOf'>,
  call: PageCall,
  problems?: readonly Problem[],
  status = 400,
): Promise<Response> {
  const t = textsFor(call.request);
  const principal = asUser(call.principal);
  const { name, type, fields, connectedAt } = await getConnection(platform, principal.userId, call.params.name);
  const done = call.url.searchParams.get('done');
  const texts = t.connections;
  const outcome =
    problems || (done !== 'connected' && done !== 'disconnected' && done !== 'refused')
      ? undefined
      : notice(done === 'refused' ? 'warning' : 'good', texts.done[done]);
  const inputs = fields.map((secret) =>
    field(
      t,
      { name: inputOf(secret), label: secret, type: 'password', autocomplete: 'off', maxlength: 8192 },
      problems ?? [],
    ),
  );
  const at = pathOf(platform, connectPath(name));
  return page(platform, call.request, {
    title: texts.connectTitle(name),
    status: problems ? status : 200,
    failed: problems !== undefined,
    person: await pagePerson(platform, principal),
    body: html`${errorSummary(t, problems ?? [])}${outcome}<p>${
      connectedAt === null
        ? texts[type === 'oauth' ? 'introSignIn' : 'intro'](name)
        : texts.connected(formatTime(call.request, Date.parse(connectedAt), 'date'))
    }</p>
${form(at, html`${inputs}${actions(button({ label: connectedAt === null ? texts.connect : texts.change }))}`, {
  action: 'connect',
})}${
  connectedAt !== null &&
  form(at, actions(button({ label: texts.disconnect, kind: 'danger' })), { action: 'disconnect' })
}`,
  });
}

/** POST: stores what the person entered, or ends the connection. */
export async function connectForm(
  platform: Platform,
  call: PageCall & { readonly body: Readonly<Record<string, string>> },
): Promise<Response> {
  const { name } = call.params;
  const to = (done: string): Response => seeOther(`${pathOf(platform, connectPath(name))}?done=${done}`);
  if (call.body['action'] === 'disconnect') {
    try {
      await deleteConnection(platform, callerOf(call), name);
    } catch (error) {
      const isGone = error instanceof LegateError && error.code === ConnectionErrors.CONNECTION_NOT_FOUND.code;
      if (!isGone) throw error;
    }
    return to('disconnected');
  }
  const { userId } = asUser(call.principal);
  if (getConnectable(platform, name).server.legate.auth.type === 'oauth') return beginOnPage(platform, call);
  const { fields } = await getConnection(platform, userId, name);
  const entered = fields.map((secret) => [secret, call.body[inputOf(secret)] ?? ''] as const);
  const missing = entered.filter(([, value]) => value === '');
  if (missing.length > 0) {
    const { required } = textsFor(call.request).fields;
    return show(
      platform,
      call,
      missing.map(([secret]) => ({ field: inputOf(secret), message: required })),
    );
  }
  try {
    await putConnection(platform, callerOf(call), name, Object.fromEntries(entered));
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== CommonErrors.VALIDATION_FAILED.code) throw error;
    const issues = (error.details?.['issues'] ?? []) as Issue[];
    const problems = issues.map(({ path, message }) => {
      const secret = path.replace(/^fields\./, '');
      return { field: inputOf(secret), message: `${secret} ${message}.` };
    });
    return show(platform, call, problems);
  }
  return to('connected');
}

/**
 * Shows the server at which the person is about to sign in, as a link, because the page's policy forbids forms that
 * lead to another site.
 */
async function beginOnPage(platform: Platform, call: PageCall): Promise<Response> {
  const t = textsFor(call.request);
  const { server } = getConnectable(platform, call.params.name);
  try {
    const { address, issuer, browserSecret } = await beginSignIn(
      platform,
      callerOf(call),
      server,
      signInCookie(server.name).read(platform, call.request),
    );
    return page(platform, call.request, {
      title: t.connections.connectTitle(server.name),
      person: await pagePerson(platform, asUser(call.principal)),
      cookies: [signInCookie(server.name).set(platform, browserSecret)],
      body: html`<p>${t.connections.leave(new URL(issuer).host)}</p>${actions(
        buttonLink(t.connections.continue, address, 'primary'),
      )}`,
    });
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== ConnectionErrors.CONNECTION_UPSTREAM_FAILED.code) throw error;
    return show(platform, call, [{ message: t.connections.failed }], error.status);
  }
}

/** GET: the answer of the authorization server at which the person signed in. */
export async function callbackPage(platform: Platform, call: Call<unknown, SignInAnswer, unknown>): Promise<Response> {
  const person = callerOf(call);
  const secretFor = (name: string) => signInCookie(name).read(platform, call.request);
  const ended = await endSignIn(platform, person, secretFor, call.query);
  const { server, credentials, isLast } = ended;
  if (credentials) await storeSignIn(platform, person, server, credentials);
  const to = `${pathOf(platform, connectPath(server))}?done=${credentials ? 'connected' : 'refused'}`;
  return seeOther(to, {}, isLast ? [signInCookie(server).clear(platform)] : []);
}

/** GET: the servers that need credentials of the signed-in person. */
export async function connectionsPage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'secrets' | 'stateOf'>,
  call: Call<unknown, unknown, unknown>,
): Promise<Response> {
  const t = textsFor(call.request);
  const principal = asUser(call.principal);
  const connections = await listConnections(platform, principal.userId);
  const cards = connections.map(({ name, connectedAt }): Html => {
    const since = connectedAt === null ? undefined : formatTime(call.request, Date.parse(connectedAt), 'date');
    return card({
      title: name,
      lines: [since === undefined ? t.connections.notConnected : t.connections.connected(since)],
      actions: buttonLink(
        since === undefined ? t.connections.connect : t.connections.change,
        pathOf(platform, connectPath(name)),
      ),
    });
  });
  return page(platform, call.request, {
    title: t.connections.title,
    person: await pagePerson(platform, principal),
    inAccount: true,
    body: html`<p>${cards.length === 0 ? t.connections.none : t.connections.listIntro}</p>${list(cards)}`,
  });
}
