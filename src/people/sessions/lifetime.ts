import { MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';

type Configured = Pick<Platform, 'config'>;

/** Minimum time between two recorded uses of a session. */
export const TOUCH_EVERY_MS = MINUTE_MS;

/** Returns the maximum lifetime of a session. */
export const absoluteMs = ({ config }: Configured): number => config.multiSession.absoluteTtl * SECOND_MS;

/** Returns the expiry of a session used at `now`. */
export const expiryAfterUse = ({ config }: Configured, now: number, absoluteExpiresAt: number): number =>
  Math.min(now + config.multiSession.idleTtl * SECOND_MS, absoluteExpiresAt);
