import { asUser } from '../../access/principal.ts';
import type { LegateError } from '../../kernel/errors.ts';
import {
  actions,
  badge,
  button,
  buttonLink,
  card,
  details,
  errorSummary,
  field,
  form,
  formatTime,
  type Html,
  html,
  list,
  messageOf,
  notice,
  or,
  type Problem,
  page,
  pathOf,
  qrCode,
  type Site,
  safeReturnTo,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { parseDevice, SessionErrors, withRecentProof, withRecentSignIn } from '../sessions/index.ts';
import { hasPasskeys } from '../sign-in/passkeys/index.ts';
import { getSecondFactor, type SecondFactorState } from '../sign-in/second-factor/index.ts';
import { listTrustedDevices, readDeviceToken, UserErrors } from '../users/index.ts';
import { deviceName } from './device-name.ts';
import { type AnyCall, findPagePerson, PATHS, withReturnTo } from './form.ts';
import { findMissingProof, missingProofOf, signInAgain } from './missing-proof.ts';

/** Values of `?step=`: the steps of the page that have their own form. */
const STEPS = ['backup-codes', 'off'] as const;

/** Content of a page of the second factor. */
interface View {
  readonly title: string;
  readonly body: Html;
  /** For lists. */
}

/** GET: the second factor of the user, or the first step of setting one up. Also shows the problems of a form. */
export async function twoFactorPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  call: AnyCall,
  error?: LegateError,
): Promise<Response> {
  const t = textsFor(call.request);
  const { userId, via } = asUser(call.principal);
  const state = await getSecondFactor(platform, userId);
  const problems = error ? problemsOf(t, error) : [];
  const step = STEPS.find((name) => name === call.url.searchParams.get('step'));
  const view = (): View | Promise<View> => {
    if (via !== 'session') return { title: t.twoFactor.title, body: notice('info', t.twoFactor.external) };
    if (state.enabledAt === null) return offView(platform, call, t, state, problems);
    if (step === 'backup-codes') return renewView(platform, call, t, problems);
    if (step === 'off') return switchOffView(platform, call, t, state, problems);
    return onView(platform, call, t, state);
  };
  return render(platform, call, await view(), problems, error);
}

/** The second step of setting up: the secret, as QR code and as text, and the form for the first code. */
export const setUpPage = (
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: AnyCall,
  uri: string,
  error?: LegateError,
): Promise<Response> => {
  const t = textsFor(call.request);
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  const problems = error ? problemsOf(t, error) : [];
  const body = html`<ol class="steps"><li><h2>${t.twoFactor.scan}</h2>${qrCode(uri, t.twoFactor.qr)}${details(
    t.twoFactor.manual,
    html`<p>${t.twoFactor.manualText}</p><p class="hint" id="key">${t.twoFactor.key}</p>
<p><code class="key" aria-labelledby="key" role="group">${secret.match(/.{1,4}/g)?.join(' ')}</code></p>`,
  )}</li><li><h2>${t.twoFactor.enter}</h2>${form(
    call.url,
    html`${codeField(t, t.twoFactor.codeHint, problems)}${actions(button({ label: t.twoFactor.switchOn }))}`,
    { action: 'confirm', secret },
  )}</li></ol><p><a href="${hereWith(platform, call)}">${t.twoFactor.startAgain}</a></p>`;
  return render(platform, call, { title: t.twoFactor.setUpTitle, body }, problems, error);
};

/** Shows new backup codes, which no later page shows. */
export function backupCodesPage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: AnyCall,
  codes: readonly string[],
  done: 'nowOn' | 'newCodes',
): Promise<Response> {
  const t = textsFor(call.request);
  const next = safeReturnTo(platform, call.url.searchParams.get('returnTo')) ?? pathOf(platform, PATHS.twoFactor);
  return render(platform, call, {
    title: t.twoFactor.saveTitle,
    body: html`${notice('good', t.twoFactor[done])}<p>${t.twoFactor.saveText}</p><ul class="codes">${codes.map(
      (code) => html`<li><code>${code}</code></li>`,
    )}</ul>${actions(buttonLink(t.twoFactor.saved, next, 'primary'))}`,
  });
}

async function render(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: AnyCall,
  { title, body }: View,
  problems: readonly Problem[] = [],
  error?: LegateError,
): Promise<Response> {
  const t = textsFor(call.request);
  const due = asUser(call.principal).secondFactorDue === true;
  return page(platform, call.request, {
    title,
    error,
    person: await findPagePerson(platform, call),
    inAccount: !due,
    body: html`${errorSummary(t, problems)}${body}`,
  });
}

async function offView(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  call: AnyCall,
  t: Texts,
  { needsPassword }: SecondFactorState,
  problems: readonly Problem[],
): Promise<View> {
  const due = asUser(call.principal).secondFactorDue === true;
  const done = call.url.searchParams.get('done') === 'off' && notice('good', t.twoFactor.offDone);
  const proof = needsPassword ? withRecentProof(platform, call) : withRecentSignIn(platform, call);
  const missing = await findMissingProof(platform, proof);
  const begin = html`${needsPassword && passwordField(t, problems)}${actions(button({ label: t.twoFactor.begin }))}`;
  const instead = due && hasPasskeys(platform) && passkeyInstead(platform, call, t);
  const start =
    missing === undefined
      ? html`${form(call.url, begin, { action: 'begin' })}${instead}`
      : signInAgain(
          platform,
          t,
          hereWith(platform, call),
          missing === 'passkey' ? t.passkeys.passkeyFirst : t.twoFactor.signInFirst,
        );
  const intro = needsPassword ? t.twoFactor.intro : t.twoFactor.introNoPassword;
  return {
    title: t.twoFactor.title,
    body: html`${done}${due && notice('warning', t.twoFactor.due)}<p>${intro}</p>${start}`,
  };
}

const passkeyInstead = (site: Site, call: AnyCall, t: Texts): Html =>
  html`${or(t)}<p>${t.twoFactor.passkeyText}</p>${actions(
    buttonLink(t.passkeys.add, withReturnTo(site, call, PATHS.passkeys)),
  )}`;

const passwordField = (t: Texts, problems: readonly Problem[]): Html =>
  field(
    t,
    { name: 'password', label: t.common.password, type: 'password', autocomplete: 'current-password' },
    problems,
  );

async function onView(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  call: AnyCall,
  t: Texts,
  state: SecondFactorState,
): Promise<View> {
  const { request, url } = call;
  const done = { trust: t.twoFactor.trustEnded, 'all-trust': t.twoFactor.allTrustEnded }[
    url.searchParams.get('done') ?? ''
  ];
  const when = formatTime(request, state.enabledAt ?? 0, 'date');
  const step = (label: string, name: (typeof STEPS)[number]): Html => buttonLink(label, hereWith(platform, call, name));
  return {
    title: t.twoFactor.title,
    body: html`${
      done !== undefined && notice('good', done)
    }<p>${badge('good', t.twoFactor.on)} ${t.twoFactor.onSince(when)}</p>
${list([
  card({
    title: t.twoFactor.codesTitle,
    lines: [t.twoFactor.codesLeft(state.backupCodes)],
    actions: step(t.twoFactor.renew, 'backup-codes'),
  }),
  card({ title: t.twoFactor.offTitle, lines: [t.twoFactor.offText], actions: step(t.twoFactor.off, 'off') }),
])}<h2>${t.twoFactor.trustedTitle}</h2>${await trustedDevices(platform, call, t)}`,
  };
}

async function trustedDevices(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  { principal, request }: AnyCall,
  t: Texts,
): Promise<Html> {
  const { userId } = asUser(principal);
  const token = readDeviceToken(platform, request);
  const devices = await listTrustedDevices(platform.database.read, platform.clock.now(), userId, token);
  if (devices.length === 0) return html`<p>${t.twoFactor.trustedNone}</p>`;
  const action = pathOf(platform, PATHS.trustedDevices);
  const date = (ms: number): string => formatTime(request, ms, 'date');
  const cards = devices.map(({ id, current, userAgent, createdAt, expiresAt }) => {
    const name = deviceName(t, parseDevice(userAgent));
    const end = button({ label: t.twoFactor.endTrust, kind: 'secondary', spoken: t.twoFactor.endTrustSpoken(name) });
    return card({
      title: name,
      badge: current && t.devices.current,
      lines: [t.twoFactor.trustedUntil(date(createdAt), date(expiresAt))],
      actions: form(action, end, { id }),
    });
  });
  const all = form(action, actions(button({ label: t.twoFactor.endAllTrust, kind: 'danger' })));
  return html`<p>${t.twoFactor.trustedText}</p>${list(cards)}${devices.length > 1 && all}`;
}

const renewView = (site: Site, call: AnyCall, t: Texts, problems: readonly Problem[]): View => ({
  title: t.twoFactor.renewTitle,
  body: html`<p>${t.twoFactor.renewText}</p>${form(
    call.url,
    html`${codeField(t, t.twoFactor.anyCodeHint, problems)}${actions(
      buttonLink(t.twoFactor.cancel, hereWith(site, call)),
      button({ label: t.twoFactor.renew }),
    )}`,
    { action: 'backup-codes' },
  )}`,
});

const switchOffView = (
  site: Site,
  call: AnyCall,
  t: Texts,
  { needsPassword }: SecondFactorState,
  problems: readonly Problem[],
): View => ({
  title: t.twoFactor.offTitle,
  body: html`<p>${t.twoFactor.offText}</p>${form(
    call.url,
    html`${needsPassword && passwordField(t, problems)}${codeField(t, t.twoFactor.anyCodeHint, problems)}${actions(
      buttonLink(t.twoFactor.cancel, hereWith(site, call)),
      button({ label: t.twoFactor.off, kind: 'danger' }),
    )}`,
    { action: 'off' },
  )}`,
});

const codeField = (t: Texts, hint: string, problems: readonly Problem[]): Html =>
  field(
    t,
    { name: 'code', label: t.twoFactor.code, hint, autocomplete: 'one-time-code', code: true, maxlength: 64 },
    problems,
  );

/** The path of the page, with `returnTo` kept. */
export function hereWith(site: Site, { url }: AnyCall, step?: (typeof STEPS)[number]): string {
  const returnTo = safeReturnTo(site, url.searchParams.get('returnTo'));
  const query = new URLSearchParams({ ...(step ? { step } : {}), ...(returnTo ? { returnTo } : {}) }).toString();
  return pathOf(site, PATHS.twoFactor) + (query === '' ? '' : `?${query}`);
}

function problemsOf(t: Texts, error: LegateError): Problem[] {
  const about: Readonly<Record<string, string>> = {
    [UserErrors.INVALID_PASSWORD.code]: 'password',
    [UserErrors.INVALID_CODE.code]: 'code',
  };
  const at = about[error.code];
  if (error.code === SessionErrors.REAUTHENTICATION_REQUIRED.code)
    return [{ message: missingProofOf(error) === 'sign-in' ? t.twoFactor.signInFirst : t.twoFactor.usePasskey }];
  return [{ ...(at === undefined ? {} : { field: at }), message: messageOf(t, error) }];
}
