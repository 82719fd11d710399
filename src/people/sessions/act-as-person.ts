import { type Actor, actorOf, person } from '../../access/actor.ts';
import { ANONYMOUS } from '../../access/principal.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';

/** Makes the user whom this request has just authenticated (by password, link or code) the actor of the change. */
export function actAsPerson(
  { config }: Pick<Platform, 'config'>,
  change: Change,
  userId: Id<'user'>,
  ip: string | null,
): void {
  change.actAs(person(userId, config.multiSession.trackIp ? ip : null));
}

/** The actor of a change by a request without a credential. Its user may become known in the change. */
export const requester = ({ config }: Pick<Platform, 'config'>, ip: string | null): Actor =>
  actorOf(ANONYMOUS, config.multiSession.trackIp ? ip : null);
