import { randomFillSync } from 'node:crypto';

/** Every kind of id and its prefix. An id is `<prefix>_` + 10 characters of time + 4 that count within the millisecond + 12 (60 bits) of randomness. */
export const ID_PREFIXES = {
  user: 'usr',
  tenant: 'tnt',
  agent: 'agt',
  delegation: 'dlg',
  audit: 'aud',
  event: 'evt',
  session: 'ses',
  apiToken: 'tok',
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
  request: 'req',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

/** Crockford base 32, lower case: sorts like the bits it encodes. */
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

/** The id of a kind that was made last: what it counted, in which millisecond. */
interface Last {
  ms: number;
  count: number;
}
const lastOf = new Map<IdKind, Last>();

/** Counts within a millisecond, from a random start: ids that one process makes are in the order of their making. */
function countPart(kind: IdKind, ms: number): string {
  let last = lastOf.get(kind);
  if (!last) lastOf.set(kind, (last = { ms: -1, count: 0 }));
  last.count = ms === last.ms ? last.count + 1 : randomCount();
  if (last.count >= 1 << COUNTER_BITS) last.count = randomCount();
  last.ms = ms;
  return (PAIRS[last.count >>> 10] as string) + (PAIRS[last.count & 1023] as string);
}

/** In the lower half of what can be counted. */
const randomCount = (): number => (random10Bits() << 9) | (random10Bits() & 511);

/** Ordered by millisecond and, of one kind and process, by its making within it; 60 bits beside that nobody can guess. */
export function newId(kind: IdKind, now: number): string {
  return `${ID_PREFIXES[kind]}_${timePart(now)}${countPart(kind, now)}${randomPair()}${randomPair()}${randomPair()}${randomPair()}${randomPair()}${randomPair()}`;
}

/** Whether a text has the form of such an id. What has not is the id of nothing, and is never sent to the database. */
export const isId = (kind: IdKind, text: string): boolean =>
  text.startsWith(`${ID_PREFIXES[kind]}_`) && /^[0-9a-hjkmnp-tv-z]{26}$/.test(text.slice(ID_PREFIXES[kind].length + 1));

/** Where the ids of a kind begin that are made from a millisecond on: a bound for ranges of them, no id. */
export const firstIdFrom = (kind: IdKind, ms: number): string =>
  `${ID_PREFIXES[kind]}_${timePart(Math.min(Math.max(0, ms), 32 ** 10 - 1))}`;

/** The millisecond in which an id was made. */
export function timeOfId(id: string): number {
  const at = id.indexOf('_') + 1;
  let ms = 0;
  for (const char of id.slice(at, at + 10)) ms = ms * 32 + ALPHABET.indexOf(char);
  return ms;
}
