import { CommonErrors } from '../../kernel/errors.ts';
import { actions, buttonLink, html, list, notice, page, pathOf, textsFor, tile } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { needsAdmin } from '../setup/setup-link.ts';
import { type AnyCall, findPagePerson, offersSignUp, PATHS } from './form.ts';

/** GET /: what this service is, for people. 404 NOT_FOUND for a client that does not accept text/html. */
export async function startPage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'production'>,
  call: AnyCall,
): Promise<Response> {
  const { request } = call;
  if (!request.headers.get('accept')?.includes('text/html')) throw CommonErrors.NOT_FOUND();
  const t = textsFor(request);
  const person = await findPagePerson(platform, call);
  // In development only: visitors of a public service need not know. An application that embeds the service creates no
  // set-up link, and may have administrators of its own.
  const hint = !platform.production && (await needsAdmin(platform.database.read));
  const to = (path: string): string => pathOf(platform, path);
  return page(platform, request, {
    title: t.start.title,
    person,
    body: html`<p>${t.start.intro}</p>${hint && notice('info', t.start.needsAdmin)}${
      person
        ? actions(
            ...(platform.config.console.enabled ? [buttonLink(t.console.open, to('/console'), 'primary')] : []),
            buttonLink(t.start.account, to(PATHS.home), platform.config.console.enabled ? 'secondary' : 'primary'),
          )
        : actions(
            buttonLink(t.signIn.submit, to(PATHS.signIn), 'primary'),
            ...(offersSignUp(platform) ? [buttonLink(t.signIn.signUp, to(PATHS.signUp))] : []),
          )
    }<h2>${t.start.developers}</h2>${list([
      tile(t.start.docs, t.start.docsPurpose, to('/docs')),
      tile(t.start.health, t.start.healthPurpose, to('/health/ready')),
    ])}`,
  });
}
