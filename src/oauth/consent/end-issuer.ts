import type { Change, NewEvent } from '../../ledger/index.ts';
import { issuerOf, lostUses } from '../../people/federation/index.ts';
import type { OAuthGrantRow } from '../../storage/index.ts';
import { endGrants } from './grants.ts';

/** The grants that each use of an issuer gives. The sessions of `signIn` end in src/people/federation/sign-in. */
const KIND_OF: Readonly<Record<string, OAuthGrantRow['kind']>> = { workload: 'jwt_bearer', enterprise: 'id_jag' };

/** Ends the grants that a deleted issuer gave. */
export async function endIssuer(change: Change, event: NewEvent): Promise<void> {
  await endGrants(change, 'workload_issuer', [await issuerOf(change, event)], 'issuer-deleted');
}

/** Ends the grants of the uses that an issuer lost, in the change that took them. */
export async function endLostUses(change: Change, event: NewEvent): Promise<void> {
  const kinds = lostUses(event).flatMap((use) => KIND_OF[use] ?? []);
  if (kinds.length === 0) return;
  const issuer = await issuerOf(change, event);
  for (const kind of kinds) await endGrants(change, 'workload_issuer', [issuer], 'issuer-changed', kind);
}
