import { asId } from '../../kernel/ids.ts';
import type { Change, NewEvent } from '../../ledger/index.ts';
import type { OAuthGrantRow } from '../../storage/index.ts';
import { endGrants } from './grants.ts';

/** The grants that each use of an issuer gives. Sessions of `signIn` have no grant. */
const KIND_OF: Readonly<Record<string, OAuthGrantRow['kind']>> = { workload: 'jwt_bearer', enterprise: 'id_jag' };

const usesOf = (fields: NewEvent['before']): readonly string[] => (fields?.['uses'] ?? []) as readonly string[];

/** Ends the grants that a deleted issuer gave. */
export async function endIssuer(change: Change, { before }: NewEvent): Promise<void> {
  await endGrants(change, 'workload_issuer', [String(before?.['issuer'])], 'issuer-deleted');
}

/** Ends the grants of the uses that an issuer lost, in the change that took them. */
export async function endLostUses(change: Change, { before, after, data }: NewEvent): Promise<void> {
  const lost = usesOf(before).filter((use) => !usesOf(after).includes(use));
  const kinds = lost.flatMap((use) => KIND_OF[use] ?? []);
  if (kinds.length === 0) return;
  const { issuer } = await change.db
    .selectFrom('issuers')
    .select('issuer')
    .where('id', '=', asId('issuer', String(data['issuerId'])))
    .executeTakeFirstOrThrow();
  for (const kind of kinds) await endGrants(change, 'workload_issuer', [issuer], 'issuer-changed', kind);
}
