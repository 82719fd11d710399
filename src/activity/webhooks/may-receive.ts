import { storedObject } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { UserRow, WebhookDeliveryRow, WebhookRow } from '../../storage/index.ts';
import { findRowOf } from '../stream/index.ts';
import { TEST_TYPE } from './webhook-events.ts';

/** Returns whether a webhook gets the events of everybody: that of an admin, unless an agent has set its address. */
export const getsAll = ({ role, by_agent }: Pick<UserRow, 'role'> & Pick<WebhookRow, 'by_agent'>): boolean =>
  role === 'admin' && by_agent === 0;

/** Returns whether the event of a delivery belongs to the owner of the webhook. A test message does. */
export async function isOfOwner(
  platform: Pick<Platform, 'reader'>,
  { user_id, format }: Pick<WebhookRow, 'user_id' | 'format'>,
  { type, body, event_id }: WebhookDeliveryRow,
): Promise<boolean> {
  if (type === TEST_TYPE) return true;
  if (format === null) return storedObject(body)['userId'] === user_id;
  // A message for a chat does not name the user.
  return (await findRowOf(platform, event_id))?.user_id === user_id;
}
