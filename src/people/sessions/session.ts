import { isoTime } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';
import type { SessionRow } from '../../storage/index.ts';
import { parseDevice } from './device.ts';
import { expiryAfterUse, TOUCH_EVERY_MS } from './lifetime.ts';
import type { Session } from './schema.ts';

/** Returns a session as shown to its user or an administrator. */
export function toSession(
  platform: Pick<Platform, 'clock' | 'config'>,
  row: SessionRow,
  currentId: string | null,
): Session {
  const { config, clock } = platform;
  const now = clock.now();
  const current = row.id === currentId;
  // The write that records this call as a use may still be pending.
  const expiresAt =
    current && now - row.last_used_at >= TOUCH_EVERY_MS
      ? expiryAfterUse(platform, now, row.absolute_expires_at)
      : row.expires_at;
  return {
    id: row.id,
    current,
    createdAt: isoTime(row.created_at),
    expiresAt: isoTime(expiresAt),
    ...(config.multiSession.trackDevice ? { device: parseDevice(row.user_agent) } : {}),
    ...(config.multiSession.trackIp && row.ip !== null ? { ipAddress: row.ip } : {}),
  };
}
