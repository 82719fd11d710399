import type { Texts } from '../../pages/index.ts';
import type { Session } from '../sessions/index.ts';

/** Returns browser and operating system for people. Shows an unrecognised User-Agent as unknown. */
export function deviceName(t: Texts, device: Session['device']): string {
  const browser = device?.browser === undefined || device.browser === 'unknown' ? t.devices.unknown : device.browser;
  return device?.os === undefined || device.os === 'unknown' ? browser : t.devices.on(browser, device.os);
}
