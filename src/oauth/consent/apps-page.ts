import type { Changer } from '../../access/caller.ts';
import type { UserPrincipal, Visibility } from '../../access/principal.ts';
import {
  actions,
  button,
  card,
  form,
  formatTime,
  html,
  list,
  notice,
  page,
  pathOf,
  seeOther,
  textsFor,
} from '../../pages/index.ts';
import { pagePerson } from '../../people/users/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { CONSENT_KINDS } from './consent-agent.ts';
import { endGrant, findGrants } from './grants.ts';

export const APPS_PATH = '/account/apps';
const MAX_SHOWN = 200;

/**
 * Lists the applications that act for a person, each with a button that ends its access (contract 12.7). Agents that
 * get tokens for themselves are not applications, and an exchanged token ends with the access that it comes from.
 */
export async function appsPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  request: Request,
  principal: UserPrincipal,
  ended: boolean,
): Promise<Response> {
  const t = textsFor(request);
  const { userId } = principal;
  const found = await findGrants(platform.database.read, { kind: 'owner', userId }, platform.clock.now(), {
    after: undefined,
    limit: MAX_SHOWN + 1,
    kinds: CONSENT_KINDS,
  });
  const rows = found.slice(0, MAX_SHOWN);
  const day = (ms: number): string => formatTime(request, ms, 'date');
  const intro = rows.length === 0 ? t.apps.none : t.apps.intro;
  const cut = found.length > MAX_SHOWN ? html`<p>${t.apps.newest(MAX_SHOWN)}</p>` : undefined;
  return page(platform, request, {
    title: t.apps.title,
    person: await pagePerson(platform, principal),
    inAccount: true,
    body: html`${ended ? notice('good', t.apps.ended) : undefined}<p>${intro}</p>${cut}${list(
      rows.map((row) => {
        const name = row.client_name ?? row.client_id;
        return card({
          title: name,
          lines: [
            row.scope
              .split(' ')
              .map((scope) => t.scopes[scope] ?? scope)
              .join(' · '),
            t.apps.agent(row.agent_name ?? row.agent_id),
            t.apps.resource(row.resource),
            t.apps.since(day(row.created_at), day(row.last_used_at)),
          ],
          actions: form(
            pathOf(platform, APPS_PATH),
            actions(
              button({
                label: t.apps.end,
                kind: 'danger',
                name: 'grant',
                value: row.id,
                spoken: `${t.apps.end}: ${name}`,
              }),
            ),
          ),
        });
      }),
    )}`,
  });
}

/** Ends a grant and shows the page again. Throws 404 GRANT_NOT_FOUND. */
export async function endOnPage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  person: Changer & { readonly principal: UserPrincipal },
  grantId: string,
): Promise<Response> {
  const own: Visibility = { kind: 'owner', userId: person.principal.userId };
  const reauthorize = async (db: Db): Promise<Visibility> => {
    await person.reauthorize(db);
    return own;
  };
  await endGrant(platform, { reauthorize, actor: person.actor }, grantId);
  return seeOther(`${pathOf(platform, APPS_PATH)}?ended=1`);
}
