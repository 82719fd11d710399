import { asUser } from '../../access/principal.ts';
import type { LegateError } from '../../kernel/errors.ts';
import {
  actions,
  button,
  card,
  errorSummary,
  field,
  form,
  formatTime,
  type Html,
  html,
  list,
  messageOf,
  notice,
  type Problem,
  page,
  pathOf,
  type Site,
  safeReturnTo,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { parseDevice, SessionErrors, withRecentSignIn } from '../sessions/index.ts';
import { hasPasskeys, listPasskeys, MAX_PASSKEYS, type Passkey, PasskeyErrors } from '../sign-in/passkeys/index.ts';
import { UserErrors } from '../users/index.ts';
import { deviceName } from './device-name.ts';
import { type AnyCall, findPagePerson, PATHS, withReturnTo } from './form.ts';
import { findMissingProof, type MissingProof, signInAgain } from './missing-proof.ts';
import { PASSKEY_SCRIPT } from './passkey-script.ts';
import { ceremony } from './passkey-way.ts';

/** GET: the passkeys of the user, and the form that adds one. Also shows the problems of a form. */
export async function passkeysPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  call: AnyCall,
  error?: LegateError,
): Promise<Response> {
  const t = textsFor(call.request);
  const { userId, via, secondFactorDue: due = false } = asUser(call.principal);
  const hasSession = via === 'session';
  const own = hasSession ? await listPasskeys(platform, userId) : [];
  const missing = hasSession ? await findMissingProof(platform, withRecentSignIn(platform, call)) : undefined;
  const problems = error ? problemsOf(t, error) : [];
  const done = { added: t.passkeys.added, removed: t.passkeys.removed }[call.url.searchParams.get('done') ?? ''];
  const cards = own.map((passkey) => passkeyCard(platform, call, t, passkey, missing)).reverse();
  const body = html`<p>${t.passkeys.intro}</p>${cards.length > 0 ? list(cards) : html`<p>${t.passkeys.none}</p>`}
<h2>${t.passkeys.addTitle}</h2>${addingOf(platform, call, t, own.length, missing, problems)}`;
  return page(platform, call.request, {
    title: t.passkeys.title,
    error,
    person: await findPagePerson(platform, call),
    inAccount: !due,
    script: PASSKEY_SCRIPT,
    body: html`${errorSummary(t, problems)}${done !== undefined && !error && notice('good', done)}${
      due && notice('warning', t.twoFactor.due)
    }${hasSession ? body : notice('info', t.passkeys.external)}`,
  });
}

function passkeyCard(
  site: Site,
  { request }: AnyCall,
  t: Texts,
  { id, name, synced, createdAt, lastUsedAt }: Passkey,
  missing: MissingProof,
): Html {
  const date = (time: string): string => formatTime(request, Date.parse(time), 'date');
  const used = lastUsedAt === null ? t.passkeys.neverUsed : t.passkeys.lastUsed(date(lastUsedAt));
  const remove = button({ label: t.passkeys.remove, kind: 'danger', spoken: t.passkeys.removeSpoken(name) });
  return card({
    title: name,
    lines: [`${t.passkeys.addedOn(date(createdAt))}. ${used}.`, synced ? t.passkeys.synced : t.passkeys.notSynced],
    ...(missing ? {} : { actions: form(pathOf(site, PATHS.passkeys), remove, { action: 'remove', id }) }),
  });
}

/** The part of the page below the list: the button that adds a passkey, or the step that is needed first. */
function addingOf(
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  call: AnyCall,
  t: Texts,
  count: number,
  missing: MissingProof,
  problems: readonly Problem[],
): Html {
  const here = pathOf(platform, PATHS.passkeys);
  if (missing === 'code') {
    const code = { name: 'code', label: t.twoFactor.code, hint: t.passkeys.codeHint, autocomplete: 'one-time-code' };
    return form(
      here,
      html`${field(
        t,
        { ...code, code: true, maxlength: 64 },
        problems,
      )}${actions(button({ label: t.passkeys.confirm }))}`,
      { action: 'confirm' },
    );
  }
  if (missing !== undefined)
    return signInAgain(
      platform,
      t,
      withReturnTo(platform, call, PATHS.passkeys),
      missing === 'passkey' ? t.passkeys.passkeyFirst : t.passkeys.signInFirst,
    );
  if (count >= MAX_PASSKEYS) return html`<p>${t.codes.PASSKEY_LIMIT_EXCEEDED}</p>`;
  if (!hasPasskeys(platform)) return html`<p>${t.passkeys.noDomain}</p>`;
  const { config } = platform;
  const value = deviceName(t, parseDevice(config.multiSession.trackDevice ? call.userAgent : null));
  const otherWay = html`<a href="${withReturnTo(platform, call, PATHS.twoFactor)}">${t.passkeys.otherWay}</a>`;
  return html`${ceremony({
    kind: 'add',
    options: pathOf(platform, '/passkeys/register/options'),
    verify: pathOf(platform, '/passkeys/register/verify'),
    next: safeReturnTo(platform, call.url.searchParams.get('returnTo')) ?? `${here}?done=added`,
    label: t.passkeys.add,
    messages: {
      ...t.passkeys.messages,
      PASSKEY_REJECTED: t.codes.PASSKEY_REJECTED,
      PASSKEY_EXISTS: t.codes.PASSKEY_EXISTS,
      InvalidStateError: t.codes.PASSKEY_EXISTS,
      PASSKEY_LIMIT_EXCEEDED: t.codes.PASSKEY_LIMIT_EXCEEDED,
      REAUTHENTICATION_REQUIRED: t.passkeys.signInFirst,
      UNAUTHORIZED: t.codes.UNAUTHORIZED,
    },
    before: field(t, {
      name: 'name',
      label: t.common.name,
      hint: t.passkeys.nameHint,
      value,
      autocomplete: 'off',
      maxlength: 100,
    }),
  })}<p data-passkey-unsupported hidden>${t.passkeys.unsupported} ${otherWay}</p>
<noscript><p>${t.passkeys.noScript} ${otherWay}</p></noscript>`;
}

function problemsOf(t: Texts, error: LegateError): Problem[] {
  if (error.code === UserErrors.INVALID_CODE.code) return [{ field: 'code', message: messageOf(t, error) }];
  const isLate = error.code === SessionErrors.REAUTHENTICATION_REQUIRED.code;
  return [{ message: isLate ? t.passkeys.signInFirst : messageOf(t, error) }];
}

/** Errors that the page shows. */
export const passkeysPageErrors = [
  PasskeyErrors.PASSKEY_NOT_FOUND,
  SessionErrors.REAUTHENTICATION_REQUIRED,
  UserErrors.INVALID_CODE,
  UserErrors.TOO_MANY_TRIES,
];
