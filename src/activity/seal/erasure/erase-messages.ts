import { countErasure, storedObject } from '../../../ledger/index.ts';
import type { Db } from '../../../storage/index.ts';

/** The members of an event, as its message to a webhook shows them. */
export type Shown = Readonly<Record<string, unknown>>;

/** The deliveries of events. By webhook and event, because there is no index by event alone. */
export const deliveriesOf = (db: Db, events: readonly string[]) =>
  db
    .selectFrom('webhook_deliveries')
    .where('webhook_id', 'in', db.selectFrom('webhooks').select('id'))
    .where('event_id', 'in', events);

/**
 * Erases members of events from their messages to webhooks, and what receivers have answered. The messages are kept,
 * because those of other people's events may still have to be sent. Messages to chats have no such members. Called in
 * the transaction that erases the members of the events.
 */
export async function eraseInMessages(
  db: Db,
  events: readonly { readonly id: string; readonly seq: number }[],
  erase: (event: Shown) => Shown,
): Promise<void> {
  if (events.length === 0) return;
  await countErasure(
    db,
    events.map(({ seq }) => seq),
  );
  const ids = events.map(({ id }) => id);
  const deliveries = await deliveriesOf(db, ids).select(['id', 'body']).execute();
  for (const { id, body } of deliveries) {
    await db
      .updateTable('webhook_deliveries')
      .set({ body: JSON.stringify(erase(storedObject(body))) })
      .where('id', '=', id)
      .execute();
    await db.updateTable('webhook_attempts').set({ answer: null }).where('delivery_id', '=', id).execute();
  }
}
