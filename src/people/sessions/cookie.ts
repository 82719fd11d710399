import { sessionCookie } from '../../access/session-cookie.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';
import { absoluteMs } from './lifetime.ts';

/** Header that gives the browser its session. The cookie lives as long as a session can; when the session ends is decided here and not in the browser. */
export const startCookie = (platform: Platform, token: string, remember: boolean): { 'set-cookie': string } => ({
  'set-cookie': sessionCookie(
    platform.baseUrl,
    platform.config.service.name,
    token,
    remember ? absoluteMs(platform) / SECOND_MS : undefined,
  ),
});

/** Header that takes it away. */
export const endCookie = ({ baseUrl, config }: Platform): { 'set-cookie': string } => ({
  'set-cookie': sessionCookie(baseUrl, config.service.name, '', 0),
});
