import { attributeName } from './filter.ts';
import type { ListQuery } from './schema.ts';

export type Projection = Pick<ListQuery, 'attributes' | 'excludedAttributes'>;

/** By attribute: the named sub-attributes, or `all` if the attribute itself is named. All names are in lower case. */
type Names = ReadonlyMap<string, ReadonlySet<string> | 'all'>;

const ALWAYS: ReadonlySet<string> = new Set(['schemas', 'id']);

/**
 * Applies `attributes` or `excludedAttributes` (RFC 7644, section 3.9). If both are given, the former counts. What has
 * no sub-attribute left is left out.
 */
export function project(
  resource: Readonly<Record<string, unknown>>,
  { attributes, excludedAttributes }: Projection,
): object {
  const list = attributes || excludedAttributes;
  if (!list) return resource;
  const isWanted = Boolean(attributes);
  const names = namesIn(list);
  const shown: [string, unknown][] = [];
  for (const [name, value] of Object.entries(resource)) {
    const part = ALWAYS.has(name) ? value : partOf(value, names.get(name.toLowerCase()), isWanted);
    if (part !== undefined) shown.push([name, part]);
  }
  return Object.fromEntries(shown);
}

function namesIn(list: string): Names {
  const names = new Map<string, Set<string> | 'all'>();
  for (const item of list.split(',')) {
    const [name = '', sub] = attributeName(item.trim()).split('.');
    const known = names.get(name);
    if (sub === undefined) names.set(name, 'all');
    else if (known !== 'all') names.set(name, (known ?? new Set<string>()).add(sub));
  }
  return names;
}

/** Returns what is shown of a value; undefined: nothing. */
function partOf(value: unknown, named: ReadonlySet<string> | 'all' | undefined, isWanted: boolean): unknown {
  if (named === undefined || named === 'all') return (named === 'all') === isWanted ? value : undefined;
  if (typeof value !== 'object' || value === null) return isWanted ? undefined : value;
  if (Array.isArray(value)) {
    const parts = value.map((item) => partOf(item, named, isWanted)).filter((part) => part !== undefined);
    return parts.length > 0 || value.length === 0 ? parts : undefined;
  }
  const members = Object.entries(value).filter(([name]) => named.has(name.toLowerCase()) === isWanted);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}
