import Bowser from 'bowser';
import type { DeviceInfo } from './schema.ts';

const UNKNOWN = 'unknown';

/** Programs put their name before a slash: `curl/8.5.0`. */
const program = (userAgent: string): string | undefined =>
  /^([A-Za-z][A-Za-z0-9._-]{0,39})(?:\/|$)/.exec(userAgent)?.[1];

const MAX_REMEMBERED = 1000;
const remembered = new Map<string, DeviceInfo>();

/**
 * Returns browser, operating system and type of device according to a User-Agent header, each `unknown` if missing.
 * Never throws.
 */
export function parseDevice(userAgent: string | null): DeviceInfo {
  if (!userAgent) return { browser: UNKNOWN, os: UNKNOWN, type: UNKNOWN };
  let device = remembered.get(userAgent);
  if (!device) {
    const { browser, os, platform } = Bowser.parse(userAgent);
    device = {
      browser: browser.name || program(userAgent) || UNKNOWN,
      os: os.name || UNKNOWN,
      type: platform.type || UNKNOWN,
    };
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(userAgent, device);
  }
  return device;
}
