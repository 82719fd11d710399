import { QueryClient } from '@tanstack/react-query';
import { LegateClient, LegateError, type User } from 'legate/client';
import { takeDrafts } from './drafts.ts';

const { dataset } = document.documentElement;
/** The path of the REST endpoints, without a trailing slash. */
export const REST = dataset['rest'] ?? '';
export const BRAND = dataset['brand'] ?? 'Legate';
/** A text on every screen, such as the name of a test system. */
export const BANNER = dataset['banner'] ?? '';
export const CONSOLE = `${REST}/console`;

/** How many milliseconds the clock of the service is ahead of the browser's, according to the last response. */
let ahead = 0;
/** Returns the time of the service, because expiry follows its clock. */
export const serverNow = (): number => Date.now() + ahead;

export const legate = new LegateClient({
  baseUrl: REST === '' ? '/' : REST,
  basePath: dataset['base'],
  fetch: async (...request: Parameters<typeof fetch>) => {
    const response = await fetch(...request);
    const date = Date.parse(response.headers.get('date') ?? '');
    // The header has whole seconds, so a smaller difference is ignored.
    if (!Number.isNaN(date)) ahead = Math.abs(date - Date.now()) < 1500 ? 0 : date - Date.now();
    return response;
  },
});

const status = (error: unknown): number => (error instanceof LegateError ? error.status : 0);

/** Returns the address of the sign-in page that leads back to this screen. */
export const signInAgain = (): string =>
  `${REST}/account/sign-in?returnTo=${encodeURIComponent(location.pathname + location.search)}`;

/** If the session has ended, redirects to the sign-in page and back. Unsent input is kept. */
export function onError(error: unknown): void {
  if (status(error) !== 401) return;
  location.assign(signInAgain());
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The client has already retried.
      retry: false,
      // A request without a connection fails at once, and again when there is one. It never waits unseen.
      networkMode: 'always',
      refetchOnReconnect: true,
      staleTime: 5000,
      refetchOnWindowFocus: true,
      // The client remembers the ETag of each object that it returns, so the objects are cached unchanged.
      structuralSharing: false,
    },
    // A change that waited for a connection would happen after the person has given it up.
    mutations: { networkMode: 'always' },
  },
});
queries.getQueryCache().config.onError = onError;
queries.getMutationCache().config.onError = onError;

let me: User | undefined;
export async function loadMe(): Promise<void> {
  me = (await legate.sessions.current()).user;
  takeDrafts(me.id);
}

let secretsShown = 0;
/** Called while a secret is shown, which would be lost if the page were loaded again. Returns the end of it. */
export function showSecret(): () => void {
  secretsShown++;
  return () => void secretsShown--;
}

/**
 * Loads the page again if another person has signed in in another tab, or if the person has another role: everything
 * on the page would belong to somebody else.
 */
export async function checkMe(): Promise<User> {
  const { user } = await legate.sessions.current();
  if (secretsShown === 0 && (user.id !== me?.id || user.role !== me.role)) location.reload();
  return user;
}

/** The rights of the roles (docs/security.md). The service decides; this only hides what it would refuse. */
export const rights = {
  get me(): User {
    if (!me) throw new Error('Not loaded');
    return me;
  },
  /** The caller may change their own objects; an admin may change all. */
  get write(): boolean {
    return me?.role !== 'auditor';
  },
  get admin(): boolean {
    return me?.role === 'admin';
  },
  /** The caller sees the objects of others. */
  get all(): boolean {
    return me?.role === 'admin' || me?.role === 'auditor';
  },
};

/** Returns a request as a curl command, with a placeholder for the token. */
export const asCurl = (path: string, method = 'GET', body?: unknown): string =>
  [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${location.origin}${REST}${path.replaceAll("'", '%27')}'`,
    `-H "Authorization: Bearer $LEGATE_TOKEN"`,
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
  ].join(' \\\n  ');
