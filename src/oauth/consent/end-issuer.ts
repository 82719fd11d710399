import type { Change, NewEvent } from '../../ledger/index.ts';
import { issuerOf, lostUses } from '../../people/federation/index.ts';
import type { Platform } from '../../platform.ts';
import type { OAuthGrantRow } from '../../storage/index.ts';
import { endGrants } from './grants.ts';

/** The grants that each use of an issuer gives. The sessions of `signIn` end in src/people/federation/sign-in. */
const KIND_OF: Readonly<Record<string, OAuthGrantRow['kind']>> = { workload: 'jwt_bearer', enterprise: 'id_jag' };

/** Ends the grants of the uses that an issuer lost, in the change that took them or deleted the issuer. */
export async function endLostUses(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  change: Change,
  event: NewEvent,
): Promise<void> {
  const kinds = (await lostUses(platform, change, event)).flatMap((use) => KIND_OF[use] ?? []);
  if (kinds.length === 0) return;
  const issuer = await issuerOf(change, event);
  const reason = event.type === 'issuer.deleted' ? 'issuer-deleted' : 'issuer-changed';
  for (const kind of kinds) await endGrants(change, 'workload_issuer', [issuer], reason, kind);
}
