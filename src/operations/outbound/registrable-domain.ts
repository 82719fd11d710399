import { isIP } from 'node:net';

/**
 * The part of a name that somebody registers, about: two labels, or three below a country's `co`, `com`, `ac` and the like. Used to
 * count, never to trust: where it errs, names share a count that need not.
 */
export function registrableDomain(hostname: string): string {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  if (isIP(name.replace(/^\[(.*)\]$/, '$1'))) return name;
  const labels = name.split('.');
  const [second = '', top = ''] = labels.slice(-2);
  return labels.slice(top.length === 2 && second.length <= 3 ? -3 : -2).join('.');
}
