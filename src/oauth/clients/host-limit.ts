import { LRUCache } from 'lru-cache';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { registrableDomain } from '../../operations/outbound/index.ts';

/** Maximum number of fetches in a minute: from one host, and from all hosts below one registered domain. */
const PER_HOST = 30;
const PER_DOMAIN = 60;
const MAX_HOSTS = 1000;

/** Counts a fetch of a URL. Returns false if its host or domain has reached its limit in this minute. */
export type HostLimit = (url: URL, now: number) => boolean;

/** Clients choose the URLs that describe them, so without a limit strangers could direct requests at any host. */
export function createHostLimit(): HostLimit {
  const counts = new LRUCache<string, { readonly minute: number; readonly fetches: number }>({ max: MAX_HOSTS });
  const isWithin = (name: string, limit: number, now: number): boolean => {
    const minute = Math.floor(now / MINUTE_MS);
    const seen = counts.get(name);
    const fetches = seen?.minute === minute ? seen.fetches + 1 : 1;
    if (fetches > limit) return false;
    counts.set(name, { minute, fetches });
    return true;
  };
  return (url, now) =>
    isWithin(url.host, PER_HOST, now) && isWithin(`*.${registrableDomain(url.hostname)}`, PER_DOMAIN, now);
}
