/** The filters of `GET /audit`, by the keys used in the search field. */
const KEYS = {
  agent: 'agentId',
  owner: 'ownerId',
  user: 'userId',
  tenant: 'tenantId',
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

/** A value in quotes may contain any characters. A quote or a backslash in it is preceded by a backslash. */
const WORD = /(-?)(\w+):(?:"((?:\\.|[^"\\])*)"(?=\s|$)|(\S*))|\S+/gs;

interface Word {
  readonly text: string;
  readonly minus: boolean;
  readonly key?: string | undefined;
  readonly value?: string | undefined;
}

const wordsOf = (text: string): Word[] =>
  [...text.matchAll(WORD)].map(([word, minus, key, quoted, plain]) => ({
    text: word,
    minus: minus === '-',
    key,
    value: quoted?.replaceAll(/\\(.)/gs, '$1') ?? plain,
  }));

/**
 * Parses `agent:agt_x -result:allowed resource:"db:a b"`. A minus excludes what the filter would select. Times
 * (`since:2026-11-01`) can occur once and cannot be excluded.
 */
export const parseFilter = (text: string): ParsedFilter => parseWords(text, KEYS, true);

/** The same format with other keys, by the filters that they stand for. */
export function parseWords(text: string, keys: Readonly<Record<string, string>>, canExclude: boolean): ParsedFilter {
  const query: Record<string, string[]> = {};
  const unknown: string[] = [];
  for (const { text: word, minus, key, value } of wordsOf(text)) {
    const name = key && Object.hasOwn(keys, key) ? keys[key] : undefined;
    const time = name === 'since' || name === 'until';
    if (!name || !value || (minus && !canExclude) || (time && (minus || Number.isNaN(Date.parse(value)))))
      unknown.push(word);
    else if (time) query[name] = [new Date(value).toISOString()];
    else (query[minus ? `not.${name}` : name] ??= []).push(value);
  }
  return { query, unknown };
}

/** Returns filters as text, in the format that is parsed above. */
export const filterText = (query: Readonly<Record<string, readonly string[]>>): string =>
  Object.entries(query)
    .flatMap(([name, values]) => {
      const exclude = name.startsWith('not.');
      const key =
        FILTER_KEYS.find((one) => KEYS[one as keyof typeof KEYS] === (exclude ? name.slice(4) : name)) ?? name;
      return values.map((value) => wordOf(key, value, exclude));
    })
    .join(' ');

/** Adds a filter to the text unless it is already there, in place of its opposite. */
export function withFilter(text: string, key: string, value: string, exclude = false): string {
  const same = wordsOf(text).filter((word) => word.key === key && word.value === value);
  if (same.some(({ minus }) => minus === exclude)) return text;
  const others = wordsOf(text).filter((word) => word.key !== key || word.value !== value);
  return [...others.map((word) => word.text), wordOf(key, value, exclude)].join(' ');
}

const wordOf = (key: string, value: string, exclude: boolean): string =>
  `${exclude ? '-' : ''}${key}:${/^"|\s/.test(value) ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : value}`;
