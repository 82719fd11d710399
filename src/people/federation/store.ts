import { createHash } from 'node:crypto';
import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import { type Id, idFrom, isId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db, IssuerRow } from '../../storage/index.ts';
import { IssuerErrors } from './errors.ts';
import { type CreateIssuer, DEFAULT_ALGORITHMS, type Issuer, MAX_ISSUERS } from './schema.ts';

type Columns = Omit<IssuerRow, 'id' | 'created_at' | 'updated_at'>;

export const toColumns = (input: CreateIssuer): Columns => ({
  name: input.name,
  issuer: input.issuer,
  uses: JSON.stringify(input.uses),
  audience: input.audience ?? null,
  jwks_uri: input.jwksUri ?? null,
  algorithms: JSON.stringify(input.algorithms ?? DEFAULT_ALGORITHMS),
  domains: input.domains === undefined ? null : JSON.stringify(input.domains),
  enterprise_required: input.enterprise?.required ? 1 : 0,
});

const fieldsOf = (row: Columns & { readonly id: Id<'issuer'> }) => ({
  id: row.id,
  name: row.name,
  issuer: row.issuer,
  uses: JSON.parse(row.uses) as Issuer['uses'],
  ...(row.audience === null ? {} : { audience: row.audience }),
  ...(row.jwks_uri === null ? {} : { jwksUri: row.jwks_uri }),
  algorithms: JSON.parse(row.algorithms) as Issuer['algorithms'],
  ...(row.domains === null ? {} : { domains: JSON.parse(row.domains) as string[] }),
  ...(row.enterprise_required === 1 ? { enterprise: { required: true } } : {}),
});

export const toIssuer = (row: IssuerRow): Issuer =>
  versioned(
    { ...fieldsOf(row), source: 'api', createdAt: isoTime(row.created_at), updatedAt: isoTime(row.updated_at) },
    row,
  );

/** Its id follows from its address, so that all instances and restarts have the same. */
function fromConfiguration(input: CreateIssuer): Issuer {
  const row = { id: idFrom('issuer', createHash('sha256').update(input.issuer).digest()), ...toColumns(input) };
  return versioned({ ...fieldsOf(row), source: 'configuration' }, row);
}

export const configuredIssuers = ({ config }: Pick<Platform, 'config'>): Issuer[] =>
  config.issuers.map(fromConfiguration);

/** Returns all issuers: those of the configuration, then the others, oldest first. */
export async function listIssuers(platform: Platform, db: Db): Promise<Issuer[]> {
  const rows = await db.selectFrom('issuers').selectAll().orderBy('id').limit(MAX_ISSUERS).execute();
  const configured = configuredIssuers(platform);
  // What the configuration declares replaces what the API stored before.
  const others = rows.map(toIssuer).filter((o) => !configured.some((c) => c.issuer === o.issuer || c.name === o.name));
  return [...configured, ...others];
}

/** Throws 404 ISSUER_NOT_FOUND. */
export async function getIssuer(platform: Platform, db: Db, id: string): Promise<Issuer> {
  const configured = configuredIssuers(platform).find((issuer) => issuer.id === id);
  return configured ?? toIssuer(await getIssuerRow(platform, db, id));
}

/** Returns an issuer that the API may change. Throws 404 ISSUER_NOT_FOUND, 409 ISSUER_CONFIGURED. */
export async function getIssuerRow(platform: Platform, db: Db, id: string): Promise<IssuerRow> {
  if (configuredIssuers(platform).some((issuer) => issuer.id === id)) throw IssuerErrors.ISSUER_CONFIGURED();
  const row = isId('issuer', id)
    ? await db.selectFrom('issuers').selectAll().where('id', '=', id).executeTakeFirst()
    : undefined;
  if (!row) throw IssuerErrors.ISSUER_NOT_FOUND();
  return row;
}

/** Returns the issuer with this address, if it may be used for this. */
export async function findIssuer(
  platform: Platform,
  db: Db,
  { issuer, use }: { readonly issuer: string; readonly use: Issuer['uses'][number] },
): Promise<Issuer | undefined> {
  const configured = configuredIssuers(platform);
  let found = configured.find((each) => each.issuer === issuer);
  if (!found) {
    const row = await db.selectFrom('issuers').selectAll().where('issuer', '=', issuer).executeTakeFirst();
    if (row && !configured.some((each) => each.name === row.name)) found = toIssuer(row);
  }
  return found?.uses.includes(use) ? found : undefined;
}
