import { asUser } from '../../access/principal.ts';
import { SCOPE_NAMES, type Scope } from '../../access/scopes.ts';
import type { LegateError } from '../../kernel/errors.ts';
import {
  actions,
  button,
  buttonLink,
  card,
  checkbox,
  errorSummary,
  field,
  form,
  formatTime,
  group,
  type Html,
  html,
  list,
  notice,
  type Problem,
  page,
  pathOf,
  radios,
  type Site,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { type ApiToken, listApiTokens } from '../api-tokens/index.ts';
import { withRecentProof } from '../sessions/index.ts';
import { type AnyCall, findPagePerson, PATHS } from './form.ts';
import { findMissingProof, signInAgain } from './missing-proof.ts';

/** Lifetimes that the page offers, in days. */
export const LIFETIMES = ['30', '90', '365', 'never'] as const;
/** `offline_access` has no meaning for an API token. */
export const PAGE_SCOPES = SCOPE_NAMES.filter((scope) => scope !== 'offline_access');
export const scopeField = (scope: Scope): `scope:${Scope}` => `scope:${scope}`;

/** The list includes expired tokens until they are deleted to make room for new ones. */
const MAX_LISTED = 100;

/** What the person entered. */
export interface TokenInput {
  readonly name: string;
  readonly access: 'chosen' | 'all';
  readonly lifetime: (typeof LIFETIMES)[number];
  readonly scopes: readonly Scope[];
}

const EMPTY: TokenInput = { name: '', access: 'chosen', lifetime: '30', scopes: [] };

/** GET: the tokens of the user, and the form for a new one. Also shows the problems of the form. */
export async function tokensPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  call: AnyCall,
  tried?: { readonly input: TokenInput; readonly problems: readonly Problem[]; readonly error?: LegateError },
): Promise<Response> {
  const t = textsFor(call.request);
  const { userId } = asUser(call.principal);
  const tokens = await listApiTokens(platform, userId, { limit: MAX_LISTED, after: undefined });
  const { problems = [], input = EMPTY, error } = tried ?? {};
  const revoked = call.url.searchParams.get('done') === 'revoked' && !tried && notice('good', t.tokens.revoked);
  const missing = await findMissingProof(platform, withRecentProof(platform, call));
  const cards = tokens.map((token) => tokenCard(platform, call, t, token)).reverse();
  return page(platform, call.request, {
    title: t.tokens.title,
    error,
    status: tried ? (error?.status ?? 400) : 200,
    failed: tried !== undefined,
    person: await findPagePerson(platform, call),
    inAccount: true,
    body: html`${errorSummary(t, problems)}${revoked}<p>${t.tokens.intro}</p>${
      cards.length > 0 ? list(cards) : html`<p>${t.tokens.none}</p>`
    }
<h2>${t.tokens.createTitle}</h2>${
      missing === 'passkey'
        ? signInAgain(platform, t, pathOf(platform, PATHS.tokens), t.tokens.signInFirst)
        : createForm(platform, t, input, problems, missing === 'code')
    }`,
  });
}

function tokenCard(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config'>,
  { request }: AnyCall,
  t: Texts,
  token: ApiToken,
): Html {
  const { id, name, scopes, createdAt, expiresAt, lastUsedAt } = token;
  const date = (time: string): string => formatTime(request, Date.parse(time), 'date');
  const expired = expiresAt !== null && Date.parse(expiresAt) <= platform.clock.now();
  return card({
    title: name,
    lines: [
      scopes === null ? t.tokens.all : scopes.join(', '),
      `${t.tokens.created(date(createdAt))}. ` +
        `${expiresAt === null ? t.tokens.never : expired ? t.tokens.expired : t.tokens.expires(date(expiresAt))}. ` +
        `${lastUsedAt === null ? t.tokens.unused : t.tokens.lastUsed(date(lastUsedAt))}.`,
    ],
    actions: form(
      pathOf(platform, PATHS.revokeToken),
      button({ label: t.tokens.revoke, kind: 'secondary', spoken: t.tokens.revokeSpoken(name) }),
      { id },
    ),
  });
}

function createForm(site: Site, t: Texts, input: TokenInput, problems: readonly Problem[], withCode: boolean): Html {
  const access = (value: TokenInput['access'], label: string) => ({ value, label, checked: input.access === value });
  const scopes = PAGE_SCOPES.map((scope) =>
    checkbox({
      name: scopeField(scope),
      label: t.scopes[scope] ?? scope,
      hint: html`<code>${scope}</code>`,
      checked: input.scopes.includes(scope),
    }),
  );
  const lifetimes = LIFETIMES.map((value) => ({
    value,
    label: t.tokens.lifetimes[value],
    checked: input.lifetime === value,
  }));
  const code =
    withCode &&
    field(
      t,
      {
        name: 'code',
        label: t.tokens.code,
        hint: t.tokens.codeHint,
        autocomplete: 'one-time-code',
        code: true,
        maxlength: 64,
      },
      problems,
    );
  return form(
    pathOf(site, PATHS.tokens),
    html`${field(
      t,
      {
        name: 'name',
        label: t.common.name,
        hint: t.tokens.nameHint,
        value: input.name,
        autocomplete: 'off',
        maxlength: 200,
      },
      problems,
    )}
${radios(t.tokens.rights, 'access', [access('chosen', t.tokens.chosen), access('all', t.tokens.allRights)])}
${group(t.tokens.scopes, scopes)}${radios(
  t.tokens.expiry,
  'lifetime',
  lifetimes,
)}${code}${actions(button({ label: t.tokens.submit }))}`,
  );
}

/** Shows a new token, which no later page shows. */
export async function newTokenPage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: AnyCall,
  name: string,
  token: string,
): Promise<Response> {
  const t = textsFor(call.request);
  return page(platform, call.request, {
    title: t.tokens.newTitle,
    person: await findPagePerson(platform, call),
    inAccount: true,
    body: html`${notice('good', t.tokens.newText(name))}<p class="hint" id="token">${t.tokens.token}</p>
<p><code class="key" role="group" aria-labelledby="token">${token}</code></p>${actions(
      buttonLink(t.tokens.copied, pathOf(platform, PATHS.tokens), 'primary'),
    )}`,
  });
}
