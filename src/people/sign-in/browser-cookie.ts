import { readCookie, serviceCookie, serviceCookieName } from '../../access/session-cookie.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';

type Configured = Pick<Platform, 'baseUrl' | 'config'>;

/** A cookie of this service other than the session cookie. */
export interface BrowserCookie {
  /** Returns the Set-Cookie value that sets the cookie. */
  readonly set: (platform: Configured, value: string) => string;
  /** Returns the Set-Cookie value that deletes the cookie. */
  readonly clear: (platform: Configured) => string;
  readonly read: (platform: Configured, request: Request) => string | undefined;
}

/** Defines a cookie by its name, without the name of the service, and its lifetime. */
export const browserCookie = (name: string, lifetimeMs: number): BrowserCookie => ({
  set: ({ baseUrl, config }, value) => serviceCookie(baseUrl, config.service.name, name, value, lifetimeMs / SECOND_MS),
  clear: ({ baseUrl, config }) => serviceCookie(baseUrl, config.service.name, name, '', 0),
  read: ({ baseUrl, config }, { headers }) =>
    readCookie(headers.get('cookie'), serviceCookieName(baseUrl, config.service.name, name)),
});
