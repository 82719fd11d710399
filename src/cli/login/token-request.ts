import { z } from 'zod';
import { UsageError } from '../command.ts';
import { whyFailed } from '../doctor/why-failed.ts';

const TIMEOUT_MS = 30_000;

export const TokenSet = z.object({
  access_token: z.string(),
  expires_in: z.number(),
  refresh_token: z.string().optional(),
});
export type TokenSet = z.output<typeof TokenSet>;

const JsonObject = z.record(z.string(), z.unknown());
interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Sends a request and returns its JSON object. Throws a UsageError if the service does not answer with one. */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<Answer> {
  const failed = (why: string): never => {
    throw new UsageError(`${url} does not answer as a Legate service: ${why}`);
  };
  const response = await fetch(url, {
    ...init,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => failed(whyFailed(error)));
  const body = JsonObject.safeParse(await response.json().catch(() => undefined));
  return body.success
    ? { ok: response.ok, status: response.status, body: body.data }
    : failed(`the answer with the status ${response.status} is not a JSON object`);
}

export const postForm = (url: string, fields: Record<string, string>): Promise<Answer> =>
  fetchJson(url, { method: 'POST', body: new URLSearchParams(fields), headers: { 'user-agent': 'legate login' } });

/** Returns a UsageError with the reason in an answer: in the form of RFC 6749, or in that of a rate limit. */
export function refused(what: string, { error, error_description: description }: Record<string, unknown>): UsageError {
  const said = description ?? (error as { message?: unknown } | undefined)?.message ?? error ?? 'no reason';
  return new UsageError(`The service refused to ${what}: ${String(said)}`);
}
