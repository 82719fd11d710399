import { person } from '../../access/actor.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';

/** What follows in this change is the doing of a person whom the request has just proved: by a password, a link, a code. */
export function actAsPerson({ config }: Platform, change: Change, userId: string, ip: string | null): void {
  change.actAs(person(userId, config.multiSession.trackIp ? ip : null));
}
