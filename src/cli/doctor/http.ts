import { whyFailed } from './why-failed.ts';

/** A response with its whole body. */
export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** undefined if the text is not JSON. */
  readonly json: unknown;
  readonly url: string;
}

export type Ask = (url: string, init?: RequestInit) => Promise<Seen>;

/** The server did not answer. */
export class NoAnswer extends Error {}

const TIMEOUT_MS = 10_000;
const MAX_CHARS = 1_000_000;

/** Sends requests without following redirects, because their target is part of the examination. */
export const askBy =
  (fetch: typeof globalThis.fetch): Ask =>
  async (url, init = {}) => {
    try {
      const response = await fetch(url, { redirect: 'manual', ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
      const text = await readSome(response);
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: parsed(response.headers.get('content-type'), text),
        url,
      };
    } catch (error) {
      throw new NoAnswer(`no answer from ${url}: ${whyFailed(error)}`);
    }
  };

/** Reads a body. For an event stream, which stays open, it reads only the first message. */
async function readSome(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_CHARS || (isStream && /^data:.*\S.*\r?\n\r?\n/m.test(text))) {
      void reader.cancel().catch(() => {});
      return text;
    }
  }
}

function parsed(contentType: string | null, text: string): unknown {
  const isStream = contentType?.startsWith('text/event-stream') ?? false;
  const json = isStream
    ? text
        .split(/\r?\n/)
        .filter((line) => /^data:.*\S/.test(line))
        .map((line) => line.slice(5))
        .at(-1)
    : text;
  try {
    return JSON.parse(json ?? '');
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the problem of a response that should be a JSON object, or undefined. */
export function documentProblem({ status, json, headers }: Seen): { field: string; problem: string } | undefined {
  if (status !== 200) return { field: 'status', problem: `is ${status}, but must be 200` };
  if (!isObject(json))
    return {
      field: 'content-type',
      problem: `is ${JSON.stringify(headers.get('content-type') ?? '')} with a body that is not a JSON object`,
    };
  return undefined;
}
