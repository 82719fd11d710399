import { MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';

type Configured = Pick<Platform, 'config'>;

/** Use is written down at most this often. */
export const TOUCH_EVERY_MS = MINUTE_MS;

/** How long a session lives at most. */
export const absoluteMs = ({ config }: Configured): number => config.multiSession.absoluteTtl * SECOND_MS;

/** When a session that is used at `now` expires. */
export const expiryAfterUse = ({ config }: Configured, now: number, absoluteExpiresAt: number): number =>
  Math.min(now + config.multiSession.idleTtl * SECOND_MS, absoluteExpiresAt);
