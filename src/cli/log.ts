import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import type pino from 'pino';
import type { Config } from '../config.ts';
import { redact } from '../kernel/redact.ts';
import { SECRET_PREFIXES } from '../kernel/secrets.ts';
import type { Mail } from '../operations/mail/index.ts';
import type { Log } from '../platform.ts';

type Pino = typeof pino;

const NO_KEYS: ReadonlySet<string> = new Set();

/**
 * Secrets inside longer texts: Legate tokens, Authorization values, tokens in URLs, passwords in database URLs, JWTs.
 * None takes time in the square of the length, because servers elsewhere can choose long parts of an error.
 */
const IN_TEXT: readonly [RegExp, string][] = [
  [new RegExp(`\\b(?:${Object.values(SECRET_PREFIXES).join('|')})_[A-Za-z0-9_-]{20,}`, 'g'), '[REDACTED]'],
  [/\b(bearer|basic) +[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [REDACTED]'],
  [/([?&](?:token|ticket|code|access_token|refresh_token|client_secret|password)=)[^&\s"'\\]+/gi, '$1[REDACTED]'],
  [/(:\/\/[^\s:@/"]*):[^\s@/"]+@/g, '$1:[REDACTED]@'],
  // Begins only where a run of these characters does, so that each run is read once.
  [/(?<![\w-])(?=(?:[\w-]*-)?eyJ)[\w-]+\.[\w-]+\.[\w-]*/g, '[REDACTED]'],
];

const clean = (text: string): string =>
  IN_TEXT.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), text);

/** Redacts values under secret-looking names. Errors are kept for pino to serialise. */
const cleanFields = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(
      ([key, value]) =>
        (value instanceof Error ? [key, value] : Object.entries(redact({ [key]: value }, NO_KEYS) as object)[0]) as [
          string,
          unknown,
        ],
    ),
  );

/**
 * Writes JSON lines to standard error, synchronously. Redacts values that look like a secret by their name or prefix,
 * also inside longer texts.
 */
export function createLog(level: Config['log']['level'], destination?: { write(line: string): void }): Log {
  const pino = createRequire(import.meta.url)('pino') as Pino;
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: cleanFields },
      hooks: { streamWrite: clean },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  );
  return logger;
}

/**
 * Prints a mail in development if mail.url is not set. The JSON line has the form of the log, but its link or code is
 * not redacted, because a person has to use it.
 */
export function printMail(
  { level }: Pick<Config['log'], 'level'>,
  mail: Mail,
  write: (line: string) => void = (line) => writeSync(2, line),
): void {
  if (level === 'silent') return;
  const entry = { level: 'info', time: new Date().toISOString(), ...mail, msg: 'mail not sent: mail.url is not set' };
  write(`${JSON.stringify(entry)}\n`);
}
