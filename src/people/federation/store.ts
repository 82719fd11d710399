import { createHash } from 'node:crypto';
import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import { type Id, idFrom, isId } from '../../kernel/ids.ts';
import { defineState, type Platform } from '../../platform.ts';
import { type Db, type IssuerRow, prepared } from '../../storage/index.ts';
import { IssuerErrors } from './errors.ts';
import type { PresetName } from './presets.ts';
import { addressOf, type CreateIssuer, DEFAULT_ALGORITHMS, type Issuer, MAX_ISSUERS } from './schema.ts';

type Columns = Omit<IssuerRow, 'id' | 'created_at' | 'updated_at'>;

/** Returns the JSON of a value, or null if it is absent. */
export const jsonOf = (value: unknown): string | null =>
  value === undefined || value === null ? null : JSON.stringify(value);

/** Returns the columns of an issuer without `client_secret`, whose encryption includes the id. */
export const toColumns = (input: CreateIssuer): Columns => ({
  name: input.name,
  issuer: addressOf(input),
  preset: input.preset ?? null,
  uses: JSON.stringify(input.uses),
  audience: input.audience ?? null,
  jwks_uri: input.jwksUri ?? null,
  algorithms: JSON.stringify(input.algorithms ?? DEFAULT_ALGORITHMS),
  client_id: input.clientId ?? null,
  client_secret: null,
  domains: jsonOf(input.domains),
  enterprise_required: input.enterprise?.required ? 1 : 0,
  claim_map: jsonOf(input.map),
  second_factors: jsonOf(input.secondFactors),
});

const fieldsOf = (row: Columns & { readonly id: Id<'issuer'> }) => ({
  id: row.id,
  name: row.name,
  issuer: row.issuer,
  ...(row.preset === null ? {} : { preset: row.preset as PresetName }),
  uses: JSON.parse(row.uses) as Issuer['uses'],
  ...(row.audience === null ? {} : { audience: row.audience }),
  ...(row.jwks_uri === null ? {} : { jwksUri: row.jwks_uri }),
  algorithms: JSON.parse(row.algorithms) as Issuer['algorithms'],
  ...(row.client_id === null ? {} : { clientId: row.client_id }),
  ...(row.domains === null ? {} : { domains: JSON.parse(row.domains) as string[] }),
  ...(row.enterprise_required === 1 ? { enterprise: { required: true } } : {}),
  ...(row.claim_map === null ? {} : { map: JSON.parse(row.claim_map) as NonNullable<Issuer['map']> }),
  ...(row.second_factors === null ? {} : { secondFactors: JSON.parse(row.second_factors) as string[] }),
});

export const toIssuer = (row: IssuerRow): Issuer =>
  versioned(
    { ...fieldsOf(row), source: 'api', createdAt: isoTime(row.created_at), updatedAt: isoTime(row.updated_at) },
    row,
  );

/** The id is derived from the address, so that it is the same on all instances and after a restart. */
function fromConfiguration(input: CreateIssuer): Issuer {
  const row = { id: idFrom('issuer', createHash('sha256').update(addressOf(input)).digest()), ...toColumns(input) };
  return versioned({ ...fieldsOf(row), source: 'configuration' }, row);
}

/** The issuers of the configuration, which every token request reads. */
export const issuersOfConfiguration = defineState(({ config }): readonly Issuer[] =>
  config.issuers.map(fromConfiguration),
);

const configuredIssuers = ({ stateOf }: Pick<Platform, 'stateOf'>): readonly Issuer[] =>
  stateOf(issuersOfConfiguration);

/** Returns all issuers: those of the configuration, then the others, oldest first. */
export async function listIssuers(platform: Pick<Platform, 'stateOf'>, db: Db): Promise<Issuer[]> {
  const rows = await db.selectFrom('issuers').selectAll().orderBy('id').limit(MAX_ISSUERS).execute();
  const configured = configuredIssuers(platform);
  // An issuer of the configuration replaces one with the same address or name that the API stored.
  const others = rows.map(toIssuer).filter((o) => !configured.some((c) => c.issuer === o.issuer || c.name === o.name));
  return [...configured, ...others];
}

/** Throws 404 ISSUER_NOT_FOUND. */
export async function getIssuer(platform: Pick<Platform, 'stateOf'>, db: Db, id: Id<'issuer'>): Promise<Issuer> {
  const configured = configuredIssuers(platform).find((issuer) => issuer.id === id);
  return configured ?? toIssuer(await getIssuerRow(platform, db, id));
}

/** Returns an issuer that the API may change. Throws 404 ISSUER_NOT_FOUND, 409 ISSUER_CONFIGURED. */
export async function getIssuerRow(platform: Pick<Platform, 'stateOf'>, db: Db, id: Id<'issuer'>): Promise<IssuerRow> {
  if (configuredIssuers(platform).some((issuer) => issuer.id === id)) throw IssuerErrors.ISSUER_CONFIGURED();
  const row = isId('issuer', id)
    ? await db.selectFrom('issuers').selectAll().where('id', '=', id).executeTakeFirst()
    : undefined;
  if (!row) throw IssuerErrors.ISSUER_NOT_FOUND();
  return row;
}

const findIssuerRow = prepared((db, issuer: string) =>
  db.selectFrom('issuers').selectAll().where('issuer', '=', issuer).compile(),
);

/** Returns the issuer with this address. */
export async function findTrusted(
  { database, stateOf }: Pick<Platform, 'database' | 'stateOf'>,
  db: Db,
  issuer: string,
): Promise<Issuer | undefined> {
  const configured = configuredIssuers({ stateOf });
  const found = configured.find((each) => each.issuer === issuer);
  if (found) return found;
  const row = await findIssuerRow(database, db, issuer);
  return row && !configured.some((each) => each.name === row.name) ? toIssuer(row) : undefined;
}

/** Returns the issuer with this address if it is enabled for this use. */
export async function findIssuer(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  db: Db,
  { issuer, use }: { readonly issuer: string; readonly use: Issuer['uses'][number] },
): Promise<Issuer | undefined> {
  const found = await findTrusted(platform, db, issuer);
  return found?.uses.includes(use) ? found : undefined;
}

/** Returns the issuers with which people sign in. */
export const listSignInIssuers = async (platform: Pick<Platform, 'database' | 'stateOf'>): Promise<Issuer[]> =>
  (await listIssuers(platform, platform.database.read)).filter(({ uses }) => uses.includes('signIn'));

/** Throws 404 ISSUER_NOT_FOUND unless people sign in with an issuer of this name. */
export async function getSignInIssuer(platform: Pick<Platform, 'database' | 'stateOf'>, name: string): Promise<Issuer> {
  const found = (await listSignInIssuers(platform)).find((issuer) => issuer.name === name);
  if (!found) throw IssuerErrors.ISSUER_NOT_FOUND();
  return found;
}

/**
 * Returns the issuer with its present settings, inside the change for which it has confirmed a person. Throws 404
 * ISSUER_NOT_FOUND if it was removed since it was asked, or may no longer sign people in.
 */
export async function getConfirmingIssuer(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  db: Db,
  { id, issuer }: Issuer,
): Promise<Issuer> {
  const found = await findIssuer(platform, db, { issuer, use: 'signIn' });
  if (found?.id !== id) throw IssuerErrors.ISSUER_NOT_FOUND();
  return found;
}
