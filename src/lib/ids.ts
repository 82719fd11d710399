import { randomFillSync } from 'node:crypto';

/** Every kind of id and its prefix. An id is `<prefix>_` + 10 characters of time + 16 characters (80 bits) of randomness. */
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
function random10Bits(): string {
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  return PAIRS[(pool[poolAt++] as number) & 1023] as string;
}

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

/** The part of an id behind the prefix: ordered by millisecond, unguessable within it. */
export function newIdBody(now: number): string {
  return timePart(now) + random10Bits() + random10Bits() + random10Bits() + random10Bits() + random10Bits() + random10Bits() + random10Bits() + random10Bits();
}

export function newId(kind: IdKind, now: number): string {
  return `${ID_PREFIXES[kind]}_${newIdBody(now)}`;
}

/** Whether a text has the form of such an id. What has not is the id of nothing, and is never sent to the database. */
export const isId = (kind: IdKind, text: string): boolean => text.startsWith(`${ID_PREFIXES[kind]}_`) && /^[0-9a-hjkmnp-tv-z]{26}$/.test(text.slice(ID_PREFIXES[kind].length + 1));

/** The millisecond in which an id was made. */
export function timeOfId(id: string): number {
  const at = id.indexOf('_') + 1;
  let ms = 0;
  for (const char of id.slice(at, at + 10)) ms = ms * 32 + ALPHABET.indexOf(char);
  return ms;
}
