import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { LookUps } from './look-ups.ts';

export interface NameResolverOptions {
  /** Name servers to use instead of the system's, as `address:port`. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  /** Also resolves names with the system's resolver, which supports search domains. */
  readonly searchDomains?: boolean;
  /** Timeout of a look-up, in ms. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 3000;
const TRY_MS = 1000;
const MAX_HOSTS_BYTES = 1024 * 1024;
/** Error codes: the name does not exist, has no such record, or there is no name server. */
const NOT_FOUND_CODES: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

const HOSTS_FILE =
  process.platform === 'win32'
    ? join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts')
    : '/etc/hosts';

/** Shared by all resolvers in the process. */
const dnsLookUps = new LookUps({ atOnce: 32, perDomain: 4, waiting: 256 });
/** One at a time, because `dns.lookup` blocks a thread of Node's pool until the name server answers. */
const threadLookUps = new LookUps({ atOnce: 1, perDomain: 1, waiting: 16 });

/**
 * Creates a resolver that returns all addresses of a name. It does not use the threads that `dns.lookup` shares with
 * file access, so a name server that never answers does not delay other work. The hosts file has precedence.
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
      const isUnknown = NOT_FOUND_CODES.has((error as { code?: unknown }).code);
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
