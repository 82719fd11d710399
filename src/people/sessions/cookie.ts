import { sessionCookie } from '../../access/session-cookie.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';
import { absoluteMs } from './lifetime.ts';

/**
 * Returns the header that sets the session cookie. The cookie expires after the maximum lifetime of a session; the
 * server, not the browser, decides when the session ends.
 */
export const startCookie = (
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  token: string,
  remember: boolean,
): { 'set-cookie': string } => ({
  'set-cookie': sessionCookie(
    platform.baseUrl,
    platform.config.service.name,
    token,
    remember ? absoluteMs(platform) / SECOND_MS : undefined,
  ),
});

/** Returns the header that deletes the session cookie. */
export const endCookie = ({ baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>): { 'set-cookie': string } => ({
  'set-cookie': sessionCookie(baseUrl, config.service.name, '', 0),
});
