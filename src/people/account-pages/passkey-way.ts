import { actions, attributes, type Html, html, or, pathOf, type Texts } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { hasPasskeys } from '../sign-in/passkeys/index.ts';
import { type AnyCall, destination } from './form.ts';

interface Ceremony {
  readonly kind: 'add' | 'sign-in';
  readonly options: string;
  readonly verify: string;
  /** The page after a success. */
  readonly next: string;
  readonly label: string;
  readonly messages: Readonly<Record<string, string>>;
  readonly before?: Html;
}

/** The element of a ceremony, which the script of the page shows and runs. Needs `PASSKEY_SCRIPT` on the page. */
export function ceremony({ kind, options, verify, next, label, messages, before }: Ceremony): Html {
  const box = attributes({
    'data-passkey': kind,
    'data-options': options,
    'data-verify': verify,
    'data-next': next,
    'data-messages': JSON.stringify(messages),
    hidden: true,
  });
  const style = kind === 'add' ? undefined : 'secondary';
  const start = html`<button${attributes({ type: 'button', class: style })}>${label}</button>`;
  return html`<div${box}>${before}${actions(start)}<p class="wrong" role="alert" hidden></p></div>`;
}

/**
 * The passkey button of pages that lead to the sign-in. Empty if browsers do not allow passkeys for the public address.
 */
export function passkeyWay(
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  call: AnyCall,
  t: Texts,
  isBelowOthers: boolean,
): Html | undefined {
  if (!hasPasskeys(platform)) return undefined;
  return ceremony({
    kind: 'sign-in',
    options: pathOf(platform, '/passkeys/sign-in/options'),
    verify: pathOf(platform, '/passkeys/sign-in/verify'),
    next: destination(platform, call),
    label: t.passkeys.signIn,
    messages: {
      ...t.passkeys.messages,
      INVALID_PASSKEY: t.codes.INVALID_PASSKEY,
      EMAIL_NOT_VERIFIED: t.codes.EMAIL_NOT_VERIFIED,
      SESSION_LIMIT_REACHED: t.codes.SESSION_LIMIT_REACHED,
    },
    ...(isBelowOthers ? { before: or(t) } : {}),
  });
}
