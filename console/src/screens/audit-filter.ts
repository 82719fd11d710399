/** The filters of `GET /audit`, by the keys used in the search field. */
const KEYS = {
  agent: 'agentId',
  owner: 'ownerId',
  result: 'result',
  reason: 'reason',
  action: 'action',
  resource: 'resource',
  delegation: 'delegationId',
  client: 'clientId',
  ip: 'ip',
  since: 'since',
  until: 'until',
} as const;
export const FILTER_KEYS = Object.keys(KEYS);

export interface ParsedFilter {
  readonly query: Readonly<Record<string, readonly string[]>>;
  /** Words of the text that are not filters. */
  readonly unknown: readonly string[];
}

/**
 * Reads `agent:agt_x -result:allowed resource:"db:a b"`. A minus excludes what the filter would select. Times
 * (`since:2026-11-01`) can occur once and cannot be excluded.
 */
export function parseFilter(text: string): ParsedFilter {
  const query: Record<string, string[]> = {};
  const unknown: string[] = [];
  for (const [word, minus, key, quoted, plain] of text.matchAll(/(-?)(?:(\w+):(?:"([^"]*)"|(\S*)))|\S+/g)) {
    const name = key && Object.hasOwn(KEYS, key) ? KEYS[key as keyof typeof KEYS] : undefined;
    const value = quoted ?? plain;
    const time = name === 'since' || name === 'until';
    if (!name || !value || (time && (minus || Number.isNaN(Date.parse(value))))) unknown.push(word);
    else if (time) query[name] = [new Date(value).toISOString()];
    else (query[minus ? `not.${name}` : name] ??= []).push(value);
  }
  return { query, unknown };
}

/** Returns filters as text, in the format that is parsed above. */
export const filterText = (query: Readonly<Record<string, readonly string[]>>): string =>
  Object.entries(query)
    .flatMap(([name, values]) => {
      const minus = name.startsWith('not.');
      const key = FILTER_KEYS.find((one) => KEYS[one as keyof typeof KEYS] === (minus ? name.slice(4) : name)) ?? name;
      return values.map((value) => ({ key, value, minus }));
    })
    .reduce((text, { key, value, minus }) => withFilter(text, key, value, minus), '');

/** Adds a filter to the text unless it is already there. */
export function withFilter(text: string, key: string, value: string, exclude = false): string {
  const part = `${exclude ? '-' : ''}${key}:${/\s/.test(value) ? `"${value}"` : value}`;
  return text.split(' ').includes(part) ? text : `${text} ${part}`.trim();
}
