import { randomFillSync } from 'node:crypto';

/**
 * Every kind of id with its prefix. An id is `<prefix>_`, 10 characters of time, 4 of a counter within the millisecond,
 * and 12 of randomness (60 bits).
 */
export const ID_PREFIXES = {
  user: 'usr',
  tenant: 'tnt',
  agent: 'agt',
  delegation: 'dlg',
  audit: 'aud',
  event: 'evt',
  session: 'ses',
  apiToken: 'tok',
  passkey: 'pky',
  invite: 'inv',
  mcpServer: 'mcp',
  client: 'cli',
  grant: 'grt',
  webhook: 'whk',
  delivery: 'whd',
  approval: 'apr',
  budget: 'bdg',
  cost: 'cst',
  anomaly: 'ano',
  scimGroup: 'sgr',
  request: 'req',
  issuer: 'iss',
  trust: 'tru',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

declare const idKind: unique symbol;

/**
 * An id of a kind. Neither an id of another kind nor any other text type-checks. Ids come from {@link newId}, from the
 * columns of the tables, and from requests through the schemas of `id-schema.ts`.
 */
export type Id<K extends IdKind> = string & { readonly [idKind]: K };

/**
 * Treats a text as an id of a kind, if it does not come through the schemas of requests but from the application in
 * process or from the claims of a token.
 */
export const asId = <K extends IdKind>(_kind: K, text: string): Id<K> => text as Id<K>;

/** Crockford base 32 in lower case. Sorts like the bits that it encodes. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const CHARS = Array.from(ALPHABET);
const PAIRS = CHARS.flatMap((a) => CHARS.map((b) => a + b));

const pool = new Uint16Array(2048);
let poolAt = pool.length;
function random10Bits(): number {
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  return (pool[poolAt++] as number) & 1023;
}
const randomPair = (): string => PAIRS[random10Bits()] as string;

let cachedMs = -1;
let cachedTime = '';
function timePart(ms: number): string {
  if (ms !== cachedMs) {
    let rest = ms;
    let out = '';
    for (let i = 0; i < 10; i++) {
      out = CHARS[rest % 32] + out;
      rest = Math.floor(rest / 32);
    }
    cachedMs = ms;
    cachedTime = out;
  }
  return cachedTime;
}

const COUNTER_BITS = 20;

/** The newest id of a kind: its millisecond and its count within it. */
interface Last {
  ms: number;
  count: number;
}
const lastOf = new Map<IdKind, Last>();

/** Counts within a millisecond from a random start, so that ids of one kind and process are in order of creation. */
function countPart(kind: IdKind, ms: number): string {
  let last = lastOf.get(kind);
  if (!last) lastOf.set(kind, (last = { ms: -1, count: 0 }));
  last.count = ms === last.ms ? last.count + 1 : randomCount();
  if (last.count >= 1 << COUNTER_BITS) last.count = randomCount();
  last.ms = ms;
  return (PAIRS[last.count >>> 10] as string) + (PAIRS[last.count & 1023] as string);
}

/** A start in the lower half of the counter's range, so that there is room to count. */
const randomCount = (): number => (random10Bits() << 9) | (random10Bits() & 511);

/**
 * A new id. Ids are ordered by millisecond; within one, ids of the same kind and process are in order of creation. 60
 * bits are random and cannot be guessed.
 */
export function newId<K extends IdKind>(kind: K, now: number): Id<K> {
  return (`${ID_PREFIXES[kind]}_${timePart(now)}${countPart(kind, now)}` +
    `${randomPair()}${randomPair()}${randomPair()}${randomPair()}${randomPair()}${randomPair()}`) as Id<K>;
}

/** The last 12 characters of the request ids of this process. */
const processPart = Array.from({ length: 6 }, randomPair).join('');

/**
 * A new id of a request. In the form of the other ids, at less than half their cost: unique across processes, but not
 * unguessable.
 */
export const newRequestId = (now: number): string =>
  `${ID_PREFIXES.request}_${timePart(now)}${countPart('request', now)}${processPart}`;

/** Returns an id of a kind whose part after the prefix follows from at least 26 bytes. It has no time. */
export const idFrom = <K extends IdKind>(kind: K, bytes: Uint8Array): Id<K> =>
  `${ID_PREFIXES[kind]}_${Array.from(bytes.subarray(0, 26), (byte) => CHARS[byte % 32]).join('')}` as Id<K>;

/** Whether a text has the form of an id of this kind. Anything else is not looked up in the database. */
export const isId = <K extends IdKind>(kind: K, text: string): text is Id<K> =>
  text.startsWith(`${ID_PREFIXES[kind]}_`) && /^[0-9a-hjkmnp-tv-z]{26}$/.test(text.slice(ID_PREFIXES[kind].length + 1));

/** Lower bound of the ids of a kind created at or after a millisecond, for range queries. It is not a valid id. */
export const firstIdFrom = <K extends IdKind>(kind: K, ms: number): Id<K> =>
  `${ID_PREFIXES[kind]}_${timePart(Math.min(Math.max(0, ms), 32 ** 10 - 1))}` as Id<K>;

/** The millisecond in which an id was created. */
export function timeOfId(id: string): number {
  const at = id.indexOf('_') + 1;
  let ms = 0;
  for (const char of id.slice(at, at + 10)) ms = ms * 32 + ALPHABET.indexOf(char);
  return ms;
}
