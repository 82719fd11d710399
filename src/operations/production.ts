import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { parseAddressRange } from '../kernel/address-range.ts';
import { ConfigError, type Source } from '../kernel/config.ts';
import { openToOthers } from '../kernel/data-folder.ts';
import type { Platform } from '../platform.ts';

type Config = Platform['config'];

export interface Findings {
  /** Settings with which production does not start. */
  readonly refused: string[];
  readonly warnings: string[];
}

const isLoopback = (host: string): boolean => {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return (
    bare === 'localhost' ||
    bare.endsWith('.localhost') ||
    (ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback')
  );
};

const isSafeOrigin = (address: string): boolean => {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
};

interface Loaded {
  readonly values: Config;
  /** Where each value comes from, by path. */
  readonly sources: ReadonlyMap<string, Source>;
}

/**
 * Returns the problems that keep this configuration from running in production (contract 22.9), each with its solution.
 */
export function findings({ values, sources }: Loaded): Findings {
  const refused: string[] = [];
  const warnings: string[] = [];

  if (values.baseUrl === undefined)
    refused.push(
      'LEGATE_BASE_URL is not set: set the public https address, which cookies, links and the issuer are derived from.',
    );
  else if (!values.baseUrl.startsWith('https:') && !values.allowHttp)
    refused.push(
      'LEGATE_BASE_URL is not https: cookies and tokens would be sent unencrypted. To allow this, for instance to ' +
        'try production on this machine, set LEGATE_ALLOW_HTTP=true.',
    );
  for (const range of values.http.trustedProxies.filter(trustsAll))
    refused.push(
      `LEGATE_HTTP_TRUSTED_PROXIES has ${range}: any client could choose its address. Set the addresses of your ` +
        'proxies.',
    );
  for (const origin of values.http.trustedOrigins.filter((o) => !isSafeOrigin(o)))
    refused.push(`LEGATE_HTTP_TRUSTED_ORIGINS has ${origin}: use https origins.`);
  for (const path of openToOthers(values.dataDir))
    refused.push(`${path} is open to other users of this machine: chmod go-rwx '${path}'.`);
  if (values.metrics.token !== undefined && values.metrics.token.length < 16)
    refused.push(
      'LEGATE_METRICS_TOKEN has fewer than 16 characters: node -p "crypto.randomBytes(32).toString(\'base64url\')" ' +
        'makes one.',
    );

  if (values.secret === undefined && values.databaseUrl?.startsWith('postgres'))
    refused.push(
      'LEGATE_SECRET is not set: instances on PostgreSQL share their keys under it. ' +
        'node -p "crypto.randomBytes(32).toString(\'base64url\')" creates one; set the same for every instance.',
    );

  if (!values.events.requireAuth) refused.push('LEGATE_EVENTS_REQUIRE_AUTH is false: anyone could read all events.');
  if (values.users.requireEmailVerification && values.mail.url === undefined)
    refused.push(
      'LEGATE_USERS_REQUIRE_EMAIL_VERIFICATION is on without LEGATE_MAIL_URL: nobody could verify an address. Set ' +
        'smtp://user:password@host:587.',
    );

  if (values.allowHttp && values.baseUrl?.startsWith('http:'))
    warnings.push('LEGATE_ALLOW_HTTP is true: cookies and tokens are sent unencrypted.');
  if (isTemporary(values))
    warnings.push('The database is in a temporary folder: set LEGATE_DATA_DIR or LEGATE_DATABASE_URL.');
  if (values.users.signUp === 'open' && sources.get('users.signUp') !== 'default')
    warnings.push('LEGATE_USERS_SIGN_UP is open: anyone may create an account.');
  if (values.mail.url === undefined)
    warnings.push(
      'LEGATE_MAIL_URL is not set: no links or codes are mailed, and a forgotten password cannot be reset.',
    );
  if (values.log.level === 'silent') warnings.push('LEGATE_LOG_LEVEL is silent: errors are not logged.');
  return { refused, warnings };
}

/** Returns the warnings. Throws ConfigError with everything that production refuses. */
export function assertFitForProduction(loaded: Loaded): string[] {
  const { refused, warnings } = findings(loaded);
  if (refused.length > 0)
    throw new ConfigError(refused, 'Legate does not start in production with this configuration:');
  return warnings;
}

/** Also in IPv4-mapped notation. */
const trustsAll = (range: string): boolean => parseAddressRange(range)?.[1] === 0;

function isTemporary({ databaseUrl, dataDir }: Config): boolean {
  if (databaseUrl !== undefined && !databaseUrl.startsWith('sqlite:')) return false;
  const path = resolve(databaseUrl?.slice('sqlite:'.length) ?? dataDir);
  return [tmpdir(), '/tmp', '/var/tmp', '/dev/shm'].some((folder) => path === folder || path.startsWith(`${folder}/`));
}
