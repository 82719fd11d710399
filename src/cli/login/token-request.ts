import { z } from 'zod';
import { UsageError } from '../command.ts';

const TIMEOUT_MS = 30_000;

export const TokenSet = z.object({
  access_token: z.string(),
  expires_in: z.number(),
  refresh_token: z.string().optional(),
});
export type TokenSet = z.output<typeof TokenSet>;

type Answer = { readonly ok: boolean; readonly body: Record<string, unknown> };

/** Sends a request and returns its JSON object. Throws a UsageError if the service does not answer with one. */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<Answer> {
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { ok: response.ok, body: z.record(z.string(), z.unknown()).parse(await response.json()) };
  } catch (error) {
    throw new UsageError(`${url} does not answer as a Legate service: ${(error as Error).message.split('\n')[0]}`);
  }
}

export const postForm = (url: string, fields: Record<string, string>): Promise<Answer> =>
  fetchJson(url, { method: 'POST', body: new URLSearchParams(fields), headers: { 'user-agent': 'legate login' } });
