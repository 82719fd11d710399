import { asUser } from '../../access/principal.ts';
import { accountPagesFor, html, list, notice, page, pathOf, textsFor, tile } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { findUser } from '../users/index.ts';
import { type AnyCall, findPagePerson, PATHS } from './form.ts';

/** GET: the user's start page, with links to the pages of their account. */
export async function homePage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'mailer'>,
  call: AnyCall,
): Promise<Response> {
  const t = textsFor(call.request);
  const person = await findPagePerson(platform, call);
  const user = await findUser(platform.database.read, asUser(call.principal).userId);
  const unverified = user?.email != null && user.email_verified === 0 && platform.mailer.available;
  return page(platform, call.request, {
    title: t.account.title,
    person,
    inAccount: true,
    body: html`<p>${t.common.signedInAs(
      user?.name ? `${user.name} (${person?.name ?? ''})` : (person?.name ?? ''),
    )}</p>${
      unverified &&
      notice(
        'warning',
        html`${t.account.unverified} <a href="${pathOf(platform, PATHS.verifyEmail)}">${t.account.verify}</a>`,
      )
    }${list([
      ...(platform.config.console.enabled
        ? [tile(t.console.title, t.console.purpose, pathOf(platform, '/console'))]
        : []),
      ...accountPagesFor(platform, person).flatMap(({ path, title, purpose }) =>
        purpose ? [tile(title(t), purpose(t), pathOf(platform, path))] : [],
      ),
    ])}`,
  });
}
