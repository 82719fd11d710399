import { mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { SECOND_MS } from '../../kernel/clock.ts';
import { EXIT_USAGE, UsageError } from '../command.ts';
import { postForm, refused, TokenSet } from './token-request.ts';

/** The stored result of `legate login` for one service. */
const Login = z.object({
  clientId: z.string(),
  tokenEndpoint: z.string(),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
});
export type Login = z.output<typeof Login>;
const File = z.object({ services: z.record(z.string(), Login) });

/** Errors of a refresh token or a client that has ended (RFC 6749, section 5.2). Others are temporary. */
const ENDED: ReadonlySet<unknown> = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client']);

/** An access token with less time left is refreshed. */
const MIN_REMAINING_MS = 60 * SECOND_MS;
/** A lock older than this was left by a process that has ended. */
const STALE_LOCK_MS = 30 * SECOND_MS;
const LOCK_WAIT_MS = 100;

/** Returns the folder of this user's settings: `$XDG_CONFIG_HOME/legate`, `~/.config/legate`, or `%APPDATA%\legate`. */
function folder(env: NodeJS.ProcessEnv): string {
  const base =
    env['XDG_CONFIG_HOME'] ||
    (process.platform === 'win32' ? env['APPDATA'] : undefined) ||
    join(env['HOME'] || homedir(), '.config');
  return join(base, 'legate');
}

const filePath = (env: NodeJS.ProcessEnv): string => join(folder(env), 'credentials.json');
const serviceOf = (url: string): string => new URL(url).href.replace(/\/$/, '');

function readAll(env: NodeJS.ProcessEnv): Record<string, Login> {
  const path = filePath(env);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    return File.parse(JSON.parse(text)).services;
  } catch {
    throw new UsageError(`${path} is damaged. Delete it and log in again: npx legate login`);
  }
}

/** Replaces the file in one step. Only this user may read it. */
function writeAll(env: NodeJS.ProcessEnv, services: Record<string, Login>): void {
  const path = filePath(env);
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify({ services }, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, path);
}

/**
 * Runs `work` while no other process changes the file, because a second use of a refresh token would end the access.
 */
async function withLock<T>(env: NodeJS.ProcessEnv, work: () => Promise<T>): Promise<T> {
  mkdirSync(folder(env), { recursive: true, mode: 0o700 });
  const lock = `${filePath(env)}.lock`;
  for (;;) {
    try {
      openSync(lock, 'wx', 0o600);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > STALE_LOCK_MS) rmSync(lock, { force: true });
      else await sleep(LOCK_WAIT_MS);
    }
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

export const storeLogin = (url: string, login: Login, env = process.env): Promise<string> =>
  withLock(env, async () => {
    writeAll(env, { ...readAll(env), [serviceOf(url)]: login });
    return filePath(env);
  });

const loginAgain = (url: string): UsageError =>
  new UsageError(
    `There is no login for ${serviceOf(url)}. Set LEGATE_TOKEN, or log in: npx legate login --url ${url}`,
    EXIT_USAGE,
  );

/**
 * Returns the value of `--token`, by default LEGATE_TOKEN, which other users of the machine cannot see in the list of
 * processes.
 */
export const givenToken = (option: string | undefined, env = process.env): string | undefined =>
  option ?? (env['LEGATE_TOKEN'] || undefined);

/** Returns the given token, or that of the login for this service. Throws a UsageError. */
export const tokenFor = async (url: string, option: string | undefined): Promise<string> =>
  givenToken(option) ?? storedToken(url);

/**
 * Returns the access token of the login for this service, refreshed if it is about to expire. Throws a UsageError if
 * there is no login or it has ended.
 */
async function storedToken(url: string, env = process.env): Promise<string> {
  const isFresh = (login: Login): boolean => login.expiresAt - Date.now() > MIN_REMAINING_MS;
  const first = readAll(env)[serviceOf(url)];
  if (!first) throw loginAgain(url);
  if (isFresh(first)) return first.accessToken;
  return withLock(env, async () => {
    const services = readAll(env);
    const login = services[serviceOf(url)];
    if (!login) throw loginAgain(url);
    if (isFresh(login)) return login.accessToken;
    if (login.refreshToken === undefined) throw loginAgain(url);
    const { ok, body } = await postForm(login.tokenEndpoint, {
      grant_type: 'refresh_token',
      refresh_token: login.refreshToken,
      client_id: login.clientId,
    });
    if (!ok && ENDED.has(body['error']))
      throw new UsageError(
        `The login for ${serviceOf(url)} has ended (${String(body['error'])}). Log in again: npx legate login --url ` +
          `${url}`,
      );
    if (!ok) throw refused(`refresh the login for ${serviceOf(url)}`, body);
    const next = toLogin(login, TokenSet.parse(body));
    writeAll(env, { ...services, [serviceOf(url)]: next });
    return next.accessToken;
  });
}

export const toLogin = (
  { clientId, tokenEndpoint }: Pick<Login, 'clientId' | 'tokenEndpoint'>,
  tokens: TokenSet,
): Login => ({
  clientId,
  tokenEndpoint,
  accessToken: tokens.access_token,
  refreshToken: tokens.refresh_token,
  expiresAt: Date.now() + tokens.expires_in * SECOND_MS,
});
