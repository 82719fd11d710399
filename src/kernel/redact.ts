import { SECRET_PREFIXES } from './secrets.ts';

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
/** Short names must match the whole key, so that `shipping` is not taken for a `pin`. */
const WHOLE = new Set(['otp', 'pin', 'cvv']);
/** Prefixes that only secrets have: every kind that Legate issues, and those of well-known issuers. */
const SECRET_STARTS = [
  ...Object.values(SECRET_PREFIXES).map((prefix) => `${prefix}_`),
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
/** Value of an Authorization header. */
const CREDENTIALS = /^\s*(?:bearer|basic) +\S+\s*$/i;

const MAX_REMEMBERED = 2000;
const remembered = new Map<string, boolean>();

/** Caches the result by key, because callers use the same few keys repeatedly. */
function isSecretKey(key: string, more: ReadonlySet<string>): boolean {
  let secret = remembered.get(key);
  if (secret === undefined) {
    secret = looksSecret(key);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    if (key.length <= 64) remembered.set(key, secret);
  }
  return secret || (more.size > 0 && more.has(normalised(key)));
}

const normalised = (key: string): string =>
  key.toLowerCase().replaceAll('_', '').replaceAll('-', '').replaceAll(' ', '');

function looksSecret(key: string): boolean {
  const name = normalised(key);
  for (const secret of SECRET_KEYS) if (WHOLE.has(secret) ? name === secret : name.includes(secret)) return true;
  return false;
}

function isSecretText(text: string): boolean {
  const first = text.trimStart();
  for (const start of SECRET_STARTS) if (first.startsWith(start)) return true;
  return CREDENTIALS.test(text);
}

const NAMES =
  '(?:access|refresh|id|auth|session)?[_-]?token|api[_-]?key|(?:client[_-]?)?secret|passw(?:or)?d|sig(?:nature)?';
/**
 * Secrets within a longer text, such as a command or URL. The name stays; the value up to the next separator is
 * replaced. Linear in the length of the text.
 */
const WITHIN: readonly (readonly [RegExp, string])[] = [
  [/(authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:[a-z]{1,16} {1,3})?)[^\s"',;]+/gi, `$1${REDACTED}`],
  [/(:\/\/)[^\s/?#:@]{1,256}:[^\s/?#@]{1,256}(?=@)/g, `$1${REDACTED}`],
  [new RegExp(`((?:^|[?&;\\s"'-])(?:${NAMES})=)[^&\\s#"';]+`, 'gi'), `$1${REDACTED}`],
  [
    new RegExp(
      `(?<![A-Za-z0-9_])(?:${SECRET_STARTS.filter((start) => !start.startsWith('-')).join('|')})` +
        '(?=[A-Za-z_.-]{0,64}[0-9])[A-Za-z0-9_.-]{16,}',
      'g',
    ),
    REDACTED,
  ],
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g, REDACTED],
];

/** A quick test that most texts without a secret fail. */
const HINT = new RegExp(
  `authorization|://|(?:token|key|secret|passw(?:or)?d|sig(?:nature)?)=|${SECRET_STARTS.join('|')}`,
  'i',
);

function redactText(text: string): string {
  if (text.length < 8) return text;
  if (isSecretText(text)) return REDACTED;
  if (!HINT.test(text)) return text;
  let out = text;
  for (const [secret, instead] of WITHIN) out = out.replace(secret, instead);
  return out;
}

const COUNT_OF_TOKENS = /tokens|token(?:count|limit|budget|usage)/;

/**
 * Whether the value under a secret-looking key can be a secret: `maxTokens: 500` and `password: true` cannot, `token:
 * 123456` can.
 */
function canBeSecret(key: string, value: unknown): boolean {
  if (value === null || typeof value === 'boolean') return false;
  return typeof value !== 'number' || !COUNT_OF_TOKENS.test(normalised(key));
}

/** Normalises the names in `audit.redact`. */
export const redactedKeys = (names: readonly string[]): ReadonlySet<string> => new Set(names.map(normalised));

/** Returns a copy in which every value that looks secret is replaced, at any depth. Does not change the argument. */
export function redact(value: unknown, more: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => redact(item, more));
  const out: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value))
    out.push([
      key,
      isSecretKey(key, more) && (canBeSecret(key, item) || more.has(normalised(key))) ? REDACTED : redact(item, more),
    ]);
  return Object.fromEntries(out);
}
