import { SYSTEM } from '../../../access/actor.ts';
import { seal, unseal } from '../../../kernel/encryption.ts';
import type { Id } from '../../../kernel/ids.ts';
import { defineState, type Platform } from '../../../platform.ts';
import type { Db, GatewayConnectionRow } from '../../../storage/index.ts';
import type { GatewayServer } from '../servers-file.ts';
import type { OAuthCredentials } from './oauth/tokens.ts';

const PURPOSE = 'gateway connections';
const RESEALED_AT_ONCE = 100;

/** The encrypted content of a row. */
export type Credentials =
  | { readonly type: 'userSecret'; readonly fields: Readonly<Record<string, string>> }
  | OAuthCredentials;

type Owned = Pick<GatewayConnectionRow, 'user_id' | 'server'>;

/** The context of the encryption, so that a row cannot be used for another person or server. */
const ownerOf = ({ user_id, server }: Owned): string => JSON.stringify([user_id, server]);

const newestKey = ({ secrets }: Pick<Platform, 'secrets'>): string => secrets().pepper[0]?.id ?? '';

export const sealCredentials = (
  platform: Pick<Platform, 'secrets'>,
  owned: Owned,
  credentials: Credentials,
): Pick<GatewayConnectionRow, 'sealed' | 'key_id'> => ({
  sealed: seal(platform.secrets().pepper, PURPOSE, ownerOf(owned), JSON.stringify(credentials)),
  key_id: newestKey(platform),
});

export const unsealCredentials = (
  { secrets }: Pick<Platform, 'secrets'>,
  row: Owned & Pick<GatewayConnectionRow, 'sealed'>,
): Credentials => JSON.parse(unseal(secrets().pepper, PURPOSE, ownerOf(row), row.sealed)) as Credentials;

/** Returns undefined if the key of the row was lost (`legate keys forget`). */
export function readCredentials(
  platform: Pick<Platform, 'secrets'>,
  row: Owned & Pick<GatewayConnectionRow, 'sealed'>,
): Credentials | undefined {
  try {
    return unsealCredentials(platform, row);
  } catch {
    return undefined;
  }
}

export const findConnectionRow = (
  db: Db,
  userId: Id<'user'>,
  server: string,
): Promise<GatewayConnectionRow | undefined> =>
  db
    .selectFrom('gateway_connections')
    .selectAll()
    .where('user_id', '=', userId)
    .where('server', '=', server)
    .executeTakeFirst();

/** Returns the credentials in a row if they are complete for the server's current configuration. */
export function usableCredentials(
  platform: Pick<Platform, 'secrets'>,
  server: GatewayServer,
  row: GatewayConnectionRow | undefined,
): Credentials | undefined {
  const { auth } = server.legate;
  if (!row || row.type !== auth.type) return undefined;
  const credentials = readCredentials(platform, row);
  if (auth.type === 'userSecret' && credentials?.type === 'userSecret')
    return auth.fields.every((name) => Object.hasOwn(credentials.fields, name)) ? credentials : undefined;
  if (auth.type === 'oauth' && credentials?.type === 'oauth')
    return credentials.server === server.url ? credentials : undefined;
  return undefined;
}

interface Sealed {
  /** The key with which all rows are encrypted whose own key was not lost, if that is known. */
  keyId: string;
  /** The rows up to this one have been looked at, for the newest key. */
  last: (Owned & { readonly newest: string }) | undefined;
}

export const sealedWith = defineState((): Sealed => ({ keyId: '', last: undefined }));

/** Encrypts some connections again that are encrypted with a key from before `legate keys rotate`. */
export async function resealConnections(
  platform: Pick<Platform, 'database' | 'ledger' | 'secrets' | 'stateOf'>,
): Promise<void> {
  const state = platform.stateOf(sealedWith);
  const keyId = newestKey(platform);
  if (state.keyId === keyId) return;
  const last = state.last?.newest === keyId ? state.last : undefined;
  let query = platform.database.read.selectFrom('gateway_connections').selectAll().where('key_id', '<>', keyId);
  if (last)
    query = query.where(({ and, eb, or }) =>
      or([eb('user_id', '>', last.user_id), and([eb('user_id', '=', last.user_id), eb('server', '>', last.server)])]),
    );
  const rows = await query.orderBy('user_id').orderBy('server').limit(RESEALED_AT_ONCE).execute();
  if (rows.length > 0)
    await platform.ledger.change(SYSTEM, async ({ db }) => {
      for (const row of rows) {
        const credentials = readCredentials(platform, row);
        if (!credentials) continue;
        await db
          .updateTable('gateway_connections')
          .set(sealCredentials(platform, row, credentials))
          .where('user_id', '=', row.user_id)
          .where('server', '=', row.server)
          .where('sealed', '=', row.sealed)
          .execute();
      }
    });
  const end = rows[RESEALED_AT_ONCE - 1];
  if (end) state.last = { user_id: end.user_id, server: end.server, newest: keyId };
  else Object.assign(state, { keyId, last: undefined });
}
