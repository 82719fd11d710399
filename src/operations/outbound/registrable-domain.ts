import { isIP } from 'node:net';

/**
 * Returns approximately the part of a name that can be registered: two labels, or three below a country's `co`, `com`,
 * `ac` and the like. Used for counting only: if it is wrong, unrelated names share a count.
 */
export function registrableDomain(hostname: string): string {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  if (isIP(name.replace(/^\[(.*)\]$/, '$1'))) return name;
  const labels = name.split('.');
  const [second = '', top = ''] = labels.slice(-2);
  return labels.slice(top.length === 2 && second.length <= 3 ? -3 : -2).join('.');
}
