import { type Encrypted, seal, unseal } from '../../kernel/encryption.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { addressOf, type Issuer, MAX_ISSUERS } from './schema.ts';

const PURPOSE = 'issuer client secret';

type Keys = Pick<Platform, 'secrets'>;

/** Encrypts the client secret of an issuer. */
export const sealClientSecret = ({ secrets }: Keys, id: string, secret: string | null | undefined): Encrypted | null =>
  secret === null || secret === undefined ? null : seal(secrets().pepper, PURPOSE, id, secret);

/**
 * Returns the secret of this service as a client of an issuer; undefined for a public client. Throws if its key was
 * lost (`legate keys forget`).
 */
export async function findClientSecret(
  { config, secrets }: Pick<Platform, 'config' | 'secrets'>,
  db: Db,
  issuer: Issuer,
): Promise<string | undefined> {
  if (issuer.source === 'configuration')
    return config.issuers.find((each) => addressOf(each) === issuer.issuer)?.clientSecret;
  const row = await db
    .selectFrom('issuers')
    .select(['id', 'client_secret'])
    .where('issuer', '=', issuer.issuer)
    .executeTakeFirst();
  return typeof row?.client_secret === 'string'
    ? unseal(secrets().pepper, PURPOSE, row.id, row.client_secret)
    : undefined;
}

/** Encrypts client secrets again that are encrypted with a key from before `legate keys rotate`. */
export async function resealClientSecrets(platform: Pick<Platform, 'database' | 'ledger' | 'secrets'>): Promise<void> {
  const { pepper } = platform.secrets();
  const rows = await platform.database.read
    .selectFrom('issuers')
    .select(['id', 'client_secret'])
    .where('client_secret', 'not like', `${pepper[0]?.id}.%` as Encrypted)
    .limit(MAX_ISSUERS)
    .execute();
  // A secret whose key was lost has to be set again.
  const readable = rows.filter(({ client_secret }) => pepper.some(({ id }) => client_secret?.startsWith(`${id}.`)));
  if (readable.length === 0) return;
  await platform.ledger.maintain(async (db) => {
    for (const { id, client_secret: sealed } of readable)
      await db
        .updateTable('issuers')
        .set({ client_secret: sealClientSecret(platform, id, unseal(pepper, PURPOSE, id, sealed as Encrypted)) })
        .where('id', '=', id)
        .where('client_secret', '=', sealed)
        .execute();
  });
}
