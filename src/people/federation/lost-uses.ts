import { asId } from '../../kernel/ids.ts';
import type { Change, NewEvent } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Issuer } from './schema.ts';
import { findTrusted } from './store.ts';

type Use = Issuer['uses'][number];

const usesOf = (fields: NewEvent['before']): readonly Use[] => (fields?.['uses'] ?? []) as readonly Use[];

/**
 * Returns the uses that an issuer lost in the change that emitted `issuer.updated`, or had before `issuer.deleted`,
 * except those of an issuer of the configuration that replaces it.
 */
export async function lostUses(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  change: Change,
  event: NewEvent,
): Promise<Use[]> {
  const lost = usesOf(event.before).filter((use) => !usesOf(event.after).includes(use));
  if (lost.length === 0) return lost;
  const trusted = await findTrusted(platform, change.db, await issuerOf(change, event));
  return lost.filter((use) => !trusted?.uses.includes(use));
}

/** Returns the address of the issuer that the event is about. */
export async function issuerOf({ db }: Change, { before, data }: NewEvent): Promise<string> {
  const address = before?.['issuer'];
  if (typeof address === 'string') return address;
  const id = asId('issuer', String(data['issuerId']));
  return (await db.selectFrom('issuers').select('issuer').where('id', '=', id).executeTakeFirstOrThrow()).issuer;
}
