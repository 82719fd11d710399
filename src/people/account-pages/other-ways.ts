import type { LegateError } from '../../kernel/errors.ts';
import { actions, buttonLink, type Html, html, notice, or, page, type Texts, textsFor } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { type Issuer, listSignInIssuers } from '../federation/index.ts';
import { hasPasskeys } from '../sign-in/passkeys/index.ts';
import { type AnyCall, PATHS, withReturnTo } from './form.ts';
import { PASSKEY_SCRIPT } from './passkey-script.ts';
import { passkeyWay } from './passkey-way.ts';

type Pages = Pick<Platform, 'baseUrl' | 'config' | 'database' | 'mailer' | 'stateOf'>;

/** A button for each provider. They keep the page to return to. */
export const providerButtons = (
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  call: AnyCall,
  t: Texts,
  providers: readonly Pick<Issuer, 'name'>[],
): Html =>
  actions(
    ...providers.map(({ name }) =>
      buttonLink(t.signIn.withProvider(name), withReturnTo(platform, call, `/auth/oidc/${name}/start`)),
    ),
  );

/**
 * The ways to sign in without a password: passkey, identity providers and mail. Below a form for a password, each is
 * preceded by `or`. Without one, the passkey comes last, because it is hidden where scripts are switched off. Needs
 * `PASSKEY_SCRIPT` on the page if there are passkeys.
 */
export async function otherWays(platform: Pages, call: AnyCall, t: Texts, isBelowForm: boolean): Promise<Html> {
  const providers = await listSignInIssuers(platform);
  const ways = [
    ...(providers.length > 0 ? [providerButtons(platform, call, t, providers)] : []),
    ...(platform.mailer.available
      ? [
          actions(
            buttonLink(t.signIn.link, withReturnTo(platform, call, PATHS.magicLink)),
            buttonLink(t.emailCode.offer, withReturnTo(platform, call, PATHS.emailCode)),
          ),
        ]
      : []),
  ];
  const passkey = passkeyWay(platform, call, t, isBelowForm || ways.length > 0);
  return isBelowForm
    ? html`${passkey}${ways.map((way) => html`${or(t)}${way}`)}`
    : html`${ways.map((way, i) => html`${i > 0 && or(t)}${way}`)}${passkey}`;
}

/** The page shown instead of a form for a password if `users.passwords` switches passwords off. */
export async function passwordsOffPage(
  platform: Pages,
  call: AnyCall,
  title: string,
  error?: LegateError,
): Promise<Response> {
  const t = textsFor(call.request);
  const signIn = withReturnTo(platform, call, PATHS.signIn);
  return page(platform, call.request, {
    title,
    error,
    ...(hasPasskeys(platform) ? { script: PASSKEY_SCRIPT } : {}),
    body: html`${notice('info', t.codes.PASSWORDS_OFF)}${await otherWays(platform, call, t, false)}
<p><a href="${signIn}">${t.common.backToSignIn}</a></p>`,
  });
}
