export const REDACTED = '[REDACTED]';

const SECRET_KEYS = [
  'password',
  'passwd',
  'passphrase',
  'secret',
  'token',
  'authorization',
  'apikey',
  'credential',
  'privatekey',
  'accesskey',
  'cookie',
  'sessionid',
  'otp',
  'pin',
  'cvv',
];
/** Short names are compared whole, so that `shipping` is not a `pin`. */
const WHOLE = new Set(['otp', 'pin', 'cvv']);
/** Beginnings that only secrets have: ours, and those of well-known issuers. */
const SECRET_STARTS = [
  'lgt_',
  'lgk_',
  'lgs_',
  'lgu_',
  'lgo_',
  'lgd_',
  'sk-',
  'sk_live_',
  'sk_test_',
  'rk_live_',
  'ghp_',
  'gho_',
  'ghs_',
  'ghu_',
  'ghr_',
  'github_pat_',
  'glpat-',
  'xoxb-',
  'xoxp-',
  'xoxa-',
  'xapp-',
  'AKIA',
  'ASIA',
  'AIza',
  'npm_',
  'whsec_',
  'eyJ',
  '-----BEGIN',
];
const SECRET_SCHEMES = ['bearer ', 'basic '];

const MAX_REMEMBERED = 2000;
const remembered = new Map<string, boolean>();

/** Callers use the same few names over and over; what was found out about each is kept. */
function isSecretKey(key: string, more: ReadonlySet<string>): boolean {
  let secret = remembered.get(key);
  if (secret === undefined) {
    secret = looksSecret(key);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    if (key.length <= 64) remembered.set(key, secret);
  }
  return secret || (more.size > 0 && more.has(normalised(key)));
}

const normalised = (key: string): string => key.toLowerCase().replaceAll('_', '').replaceAll('-', '').replaceAll(' ', '');

function looksSecret(key: string): boolean {
  const name = normalised(key);
  for (const secret of SECRET_KEYS) if (WHOLE.has(secret) ? name === secret : name.includes(secret)) return true;
  return false;
}

function isSecretText(text: string): boolean {
  if (text.length < 8) return false;
  const first = text.trimStart();
  for (const start of SECRET_STARTS) if (first.startsWith(start)) return true;
  const head = first.slice(0, 7).toLowerCase();
  for (const scheme of SECRET_SCHEMES) if (head.startsWith(scheme)) return true;
  return false;
}

/** Normalises the names of `audit.redact`. */
export const redactedKeys = (names: readonly string[]): ReadonlySet<string> => new Set(names.map((n) => n.toLowerCase().replaceAll('_', '').replaceAll('-', '')));

/** A copy in which every secret-looking value, at any depth, is replaced. The argument is not changed. */
export function redact(value: unknown, more: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return isSecretText(value) ? REDACTED : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => redact(item, more));
  const out: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) out.push([key, item !== null && isSecretKey(key, more) ? REDACTED : redact(item, more)]);
  return Object.fromEntries(out);
}
