import { SYSTEM } from '../../access/actor.ts';
import { asId } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { ConfiguredIssuerRow } from '../../storage/index.ts';
import type { Issuer } from './schema.ts';
import { findTrusted, issuersOfConfiguration } from './store.ts';

const toRow = ({ id, issuer, name, uses }: Issuer): ConfiguredIssuerRow => ({
  issuer,
  id: asId('issuer', id),
  name,
  uses: JSON.stringify(uses),
});

const textOf = (rows: readonly ConfiguredIssuerRow[]): string =>
  JSON.stringify(rows.map(({ issuer, id, name, uses }) => [issuer, id, name, uses]).sort());

/**
 * Compares the issuers of the configuration with those of the last start. Access tokens and sessions of an issuer that
 * was removed, or that lost a use, end with the same events as if the API had deleted or changed the issuer. So do
 * those of an issuer of the API that one of the configuration has come to replace. Called at each start that serves
 * requests, before it answers any. With several instances the newest start counts.
 */
export async function noteIssuersOfConfiguration(
  platform: Pick<Platform, 'database' | 'instance' | 'ledger' | 'stateOf'>,
): Promise<void> {
  if (!platform.instance.serves) return;
  const rows = platform.stateOf(issuersOfConfiguration).map(toRow);
  const known = await platform.database.read.selectFrom('configured_issuers').selectAll().execute();
  if (textOf(known) === textOf(rows)) return;
  await platform.ledger.change(SYSTEM, async (change) => {
    const { db } = change;
    const before = await db.selectFrom('configured_issuers').selectAll().orderBy('issuer').execute();
    const isReplaced = ({ issuer, name }: ConfiguredIssuerRow, by: readonly ConfiguredIssuerRow[]): boolean =>
      by.some((one) => one.issuer === issuer || one.name === name);
    const stored = await db.selectFrom('issuers').select(['issuer', 'id', 'name', 'uses']).orderBy('id').execute();
    const replaced = stored.filter((row) => isReplaced(row, rows) && !isReplaced(row, before));
    for (const row of [...before, ...replaced]) await emitLoss(platform, change, row);
    await db.deleteFrom('configured_issuers').execute();
    if (rows.length > 0) await db.insertInto('configured_issuers').values(rows).execute();
  });
}

async function emitLoss(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  { db, emit }: Change,
  { id, name, issuer, uses }: ConfiguredIssuerRow,
): Promise<void> {
  const data = { issuerId: id, name };
  const before = JSON.parse(uses) as Issuer['uses'];
  // The API may have stored an issuer of the same address.
  const now = await findTrusted(platform, db, issuer);
  if (!now) emit({ type: 'issuer.deleted', data, before: { id, name, issuer, uses: before } });
  else if (before.some((use) => !now.uses.includes(use)))
    emit({ type: 'issuer.updated', data, before: { issuer, uses: before }, after: { issuer, uses: now.uses } });
}
