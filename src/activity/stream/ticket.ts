import { UNKNOWN } from '../../access/actor.ts';
import type { Principal } from '../../access/principal.ts';
import { readCookie, sessionCookieName } from '../../access/session-cookie.ts';
import type { PlainText } from '../../kernel/branded.ts';
import { isoTime, MINUTE_MS } from '../../kernel/clock.ts';
import { seal, unseal } from '../../kernel/encryption.ts';
import { newSecret, secretHash, secretKind } from '../../kernel/secrets.ts';
import type { Call } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';

const PURPOSE = 'stream ticket';

/** The caller that a ticket represents: a credential that Legate issued, or a user whom the application signed in. */
export type TicketHolder = { readonly credential: string } | { readonly external: Principal };

/**
 * Creates a ticket for one stream within a minute (contract 13). Unlike a token, it is useless when read from a log of
 * addresses.
 */
export async function createTicket(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'secrets'>,
  call: Pick<Call<unknown, unknown, unknown>, 'request' | 'principal' | 'reauthorize' | 'actor'>,
): Promise<{ ticket: PlainText; expiresAt: string }> {
  const { request, principal } = call;
  const bearer = /^bearer +(.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]?.trim();
  const cookie = readCookie(
    request.headers.get('cookie'),
    sessionCookieName(platform.baseUrl, platform.config.service.name),
  );
  const external = principal.kind === 'user' && principal.via === 'external';
  const credential = external ? undefined : (bearer ?? cookie);
  const holder: TicketHolder = credential === undefined ? { external: principal } : { credential };
  const ticket = newSecret('streamTicket');
  const tokenHash = secretHash(ticket);
  const expiresAt = await platform.ledger.change(call.actor, async ({ db, now }) => {
    await call.reauthorize(db);
    const expires_at = now + MINUTE_MS;
    await db
      .insertInto('stream_tickets')
      .values({
        token_hash: tokenHash,
        sealed: seal(platform.secrets().cookie, PURPOSE, tokenHash, JSON.stringify(holder)),
        expires_at,
      })
      .execute();
    return expires_at;
  });
  return { ticket, expiresAt: isoTime(expiresAt) };
}

/**
 * Consumes a ticket in one atomic statement, so that only one of several concurrent requests succeeds. Returns
 * undefined if it is unknown, used or expired. A text that does not have the form of a ticket causes no write
 * transaction.
 */
export async function takeTicket(
  { clock, ledger, secrets }: Pick<Platform, 'clock' | 'ledger' | 'secrets'>,
  ticket: string,
): Promise<TicketHolder | undefined> {
  if (secretKind(ticket) !== 'streamTicket') return undefined;
  const tokenHash = secretHash(ticket);
  const row = await ledger.change(UNKNOWN, ({ db }) =>
    db.deleteFrom('stream_tickets').where('token_hash', '=', tokenHash).returningAll().executeTakeFirst(),
  );
  if (!row || clock.now() >= row.expires_at) return undefined;
  return JSON.parse(unseal(secrets().cookie, PURPOSE, tokenHash, row.sealed)) as TicketHolder;
}
