import { isoTime } from '../../kernel/clock.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import type { Db, WebhookAttemptRow } from '../../storage/index.ts';
import type { Attempt } from './schema.ts';

/** Bytes of a response that are kept. */
const KEPT_BYTES = 2048;
/** Maximum number of attempts that are shown. Redeliveries are unlimited. */
const SHOWN = 100;

/** The response to an attempt. */
export interface Answered {
  readonly status: number | null;
  readonly error: string | null;
  readonly body?: Uint8Array;
}

/** The beginning of a body as text. PostgreSQL stores no NUL. */
const textOf = (body: Uint8Array): string =>
  Buffer.from(body.subarray(0, KEPT_BYTES)).toString('utf8').replaceAll('\u0000', '\ufffd');

export async function recordAttempt(
  db: Db,
  deliveryId: Id<'delivery'>,
  { status, error, body }: Answered,
  time: { readonly at: number; readonly durationMs: number },
): Promise<void> {
  await db
    .insertInto('webhook_attempts')
    .values({
      id: newId('delivery', time.at),
      delivery_id: deliveryId,
      at: time.at,
      status,
      error,
      duration_ms: Math.max(0, Math.round(time.durationMs)),
      answer: body === undefined ? null : textOf(body),
    })
    .execute();
}

/** Oldest first, of the newest hundred. */
export async function findAttempts(db: Db, deliveryId: Id<'delivery'>): Promise<Attempt[]> {
  const rows = await db
    .selectFrom('webhook_attempts')
    .selectAll()
    .where('delivery_id', '=', deliveryId)
    .orderBy('id', 'desc')
    .limit(SHOWN)
    .execute();
  return rows.reverse().map(toAttempt);
}

const toAttempt = (row: WebhookAttemptRow): Attempt => ({
  at: isoTime(row.at),
  status: row.status,
  error: row.error,
  durationMs: row.duration_ms,
  answer: row.answer,
});
