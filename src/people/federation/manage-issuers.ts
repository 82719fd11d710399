import type { Changer } from '../../access/caller.ts';
import { validationFailed } from '../../kernel/errors.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, IssuerRow } from '../../storage/index.ts';
import { sealClientSecret } from './client-secrets.ts';
import { IssuerErrors } from './errors.ts';
import { type CreateIssuer, type Issuer, MAX_ISSUERS, presetProblems, type UpdateIssuer } from './schema.ts';
import { getIssuerRow, jsonOf, listIssuers, toColumns, toIssuer } from './store.ts';

/** The columns that a change can set. */
const COLUMNS = [
  'name',
  'uses',
  'audience',
  'jwks_uri',
  'algorithms',
  'client_id',
  'client_secret',
  'domains',
  'enterprise_required',
  'claim_map',
  'second_factors',
] as const;

/** Throws 400 VALIDATION_FAILED, 422 ISSUER_IN_USE, ISSUER_LIMIT_EXCEEDED. */
export async function createIssuer(
  platform: Pick<Platform, 'config' | 'ledger' | 'secrets' | 'stateOf'>,
  caller: Changer,
  input: CreateIssuer,
): Promise<Issuer> {
  assertFetched(platform, input);
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    const id = newId('issuer', now);
    const row: IssuerRow = {
      id,
      ...toColumns(input),
      client_secret: sealClientSecret(platform, id, input.clientSecret),
      created_at: now,
      updated_at: now,
    };
    await assertFree(platform, db, row);
    if ((await listIssuers(platform, db)).length >= MAX_ISSUERS)
      throw IssuerErrors.ISSUER_LIMIT_EXCEEDED({ details: { limit: MAX_ISSUERS } });
    await db.insertInto('issuers').values(row).execute();
    const issuer = toIssuer(row);
    change.emit({ type: 'issuer.created', data: { issuerId: row.id, name: row.name }, after: { ...issuer } });
    return issuer;
  });
}

/** Throws 400 for an address that would never be fetched. */
function assertFetched(
  { config }: Pick<Platform, 'config'>,
  addresses: { readonly issuer?: string | undefined; readonly jwksUri?: string | null | undefined },
): void {
  if (config.federation.allowPrivateNetworks) return;
  for (const path of ['issuer', 'jwksUri'] as const)
    if (addresses[path]?.startsWith('http:')) throw validationFailed([{ path, message: 'must be an https address' }]);
}

async function assertFree(platform: Pick<Platform, 'stateOf'>, db: Db, row: IssuerRow): Promise<void> {
  // One that an issuer of the configuration replaces is not listed, and is still stored.
  const stored = await db
    .selectFrom('issuers')
    .select(['id', 'name', 'issuer'])
    .where((eb) => eb.or([eb('name', '=', row.name), eb('issuer', '=', row.issuer)]))
    .execute();
  const others = [...(await listIssuers(platform, db)), ...stored].filter(({ id }) => id !== row.id);
  for (const path of ['name', 'issuer'] as const)
    if (others.some((other) => other[path] === row[path])) throw IssuerErrors.ISSUER_IN_USE({ details: { path } });
}

/**
 * Changes the given fields. The address cannot change: it identifies the issuer. Throws 400 VALIDATION_FAILED, 404
 * ISSUER_NOT_FOUND, 409 ISSUER_CONFIGURED, 422 ISSUER_IN_USE.
 */
export async function updateIssuer(
  platform: Pick<Platform, 'config' | 'ledger' | 'secrets' | 'stateOf'>,
  caller: Changer,
  id: Id<'issuer'>,
  input: UpdateIssuer,
): Promise<Issuer> {
  assertFetched(platform, input);
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    const before = await getIssuerRow(platform, db, id);
    caller.assertUnchanged?.(toIssuer(before));
    const after: IssuerRow = {
      ...before,
      name: input.name ?? before.name,
      uses: input.uses === undefined ? before.uses : JSON.stringify(input.uses),
      audience: input.audience === undefined ? before.audience : input.audience,
      jwks_uri: input.jwksUri === undefined ? before.jwks_uri : input.jwksUri,
      algorithms: input.algorithms === undefined ? before.algorithms : JSON.stringify(input.algorithms),
      domains: input.domains === undefined ? before.domains : jsonOf(input.domains),
      enterprise_required:
        input.enterprise === undefined ? before.enterprise_required : Number(input.enterprise.required),
      client_id: input.clientId === undefined ? before.client_id : input.clientId,
      client_secret:
        input.clientSecret === undefined ? before.client_secret : sealClientSecret(platform, id, input.clientSecret),
      claim_map: input.map === undefined ? before.claim_map : jsonOf(input.map),
      second_factors: input.secondFactors === undefined ? before.second_factors : jsonOf(input.secondFactors),
    };
    if (toIssuer(after).uses.includes('signIn') && after.client_id === null)
      throw validationFailed([{ path: 'clientId', message: 'is required for the use signIn' }]);
    const problems = presetProblems(toIssuer(after).preset, toIssuer(after).uses, after.client_secret);
    if (problems.length > 0) throw validationFailed(problems);
    if (COLUMNS.every((column) => after[column] === before[column])) return toIssuer(before);
    await assertFree(platform, db, after);
    after.updated_at = now;
    await db.updateTable('issuers').set(after).where('id', '=', id).execute();
    const issuer = toIssuer(after);
    change.emit({
      type: 'issuer.updated',
      data: { issuerId: id, name: after.name },
      ...changedFields(toIssuer(before), issuer),
    });
    return issuer;
  });
}

/**
 * Removes an issuer. Tokens that it signed are no longer accepted. Throws 404 ISSUER_NOT_FOUND, 409 ISSUER_CONFIGURED.
 */
export async function deleteIssuer(
  platform: Pick<Platform, 'ledger' | 'stateOf'>,
  caller: Changer,
  id: Id<'issuer'>,
): Promise<void> {
  await platform.ledger.change(caller.actor, async (change) => {
    await caller.reauthorize(change.db);
    const row = await getIssuerRow(platform, change.db, id);
    caller.assertUnchanged?.(toIssuer(row));
    await change.db.deleteFrom('issuers').where('id', '=', id).execute();
    change.emit({
      type: 'issuer.deleted',
      data: { issuerId: id, name: row.name },
      before: { ...toIssuer(row) },
    });
  });
}
