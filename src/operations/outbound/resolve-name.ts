import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { LookUps } from './look-ups.ts';

export interface NameResolverOptions {
  /** Asked instead of the system's name servers, as `address:port`. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  /** Names that only the system's own resolver knows, by a search domain, are asked for there too. */
  readonly searchDomains?: boolean;
  /** After which a look-up is cancelled, in ms. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 3000;
const TRY_MS = 1000;
const MAX_HOSTS_BYTES = 1024 * 1024;
/** No such name, no record of this type, or no name server. */
const NOT_THERE: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

const HOSTS_FILE =
  process.platform === 'win32'
    ? join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts')
    : '/etc/hosts';

/** Shared by everything in the process that resolves names for others. */
const dnsLookUps = new LookUps({ atOnce: 32, perDomain: 4, waiting: 256 });
/** `dns.lookup` occupies a thread of Node's pool for as long as a name server likes. */
const threadLookUps = new LookUps({ atOnce: 1, perDomain: 1, waiting: 16 });

/**
 * Every address of a name, asked for without the threads that `dns.lookup` shares with files: a name server that never
 * answers holds up nothing else, and its look-up is cancelled. The hosts file goes first.
 */
export function nameResolver({
  servers,
  hostsFile = HOSTS_FILE,
  searchDomains = false,
  timeoutMs = TIMEOUT_MS,
}: NameResolverOptions = {}): (hostname: string) => Promise<string[]> {
  return async (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    const known = await fromHostsFile(hostsFile, name);
    if (known.length > 0) return known;
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    try {
      return await dnsLookUps.run(name, () => ask(name, servers, timeoutMs));
    } catch (error) {
      const isUnknown = NOT_THERE.has((error as { code?: unknown }).code);
      if (!isUnknown || !(searchDomains || !name.includes('.'))) throw error;
      return threadLookUps.run(name, async () =>
        (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address),
      );
    }
  };
}

async function ask(name: string, servers: readonly string[] | undefined, timeoutMs: number): Promise<string[]> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: 2 });
  if (servers) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), timeoutMs);
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    throw [v4, v6].find((answer) => answer.status === 'rejected')?.reason ?? new Error(`${name} has no address`);
  } finally {
    clearTimeout(timer);
  }
}

async function fromHostsFile(path: string, name: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text.length > MAX_HOSTS_BYTES) return [];
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    return isIP(address) && names.some((known) => known.toLowerCase() === name) ? [address] : [];
  });
}
