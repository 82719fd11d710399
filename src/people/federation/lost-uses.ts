import { asId } from '../../kernel/ids.ts';
import type { Change, NewEvent } from '../../ledger/index.ts';
import type { Issuer } from './schema.ts';

type Use = Issuer['uses'][number];

const usesOf = (fields: NewEvent['before']): readonly Use[] => (fields?.['uses'] ?? []) as readonly Use[];

/** Returns the uses that an issuer lost in the change that emitted `issuer.updated`, or had before `issuer.deleted`. */
export const lostUses = ({ before, after }: NewEvent): Use[] =>
  usesOf(before).filter((use) => !usesOf(after).includes(use));

/** Returns the address of the issuer that the event is about. */
export async function issuerOf({ db }: Change, { before, data }: NewEvent): Promise<string> {
  const address = before?.['issuer'];
  if (typeof address === 'string') return address;
  const id = asId('issuer', String(data['issuerId']));
  return (await db.selectFrom('issuers').select('issuer').where('id', '=', id).executeTakeFirstOrThrow()).issuer;
}
