import { packageVersion } from '../../../kernel/version.ts';

export interface RangeService {
  /** Without `/range` and without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds for the whole request. */
  readonly timeout: number;
}

/** A padded range has about 1,000 lines of 45 bytes. */
const MAX_BYTES = 262_144;

/**
 * Fetches one range (k-anonymity: only 20 bits of a password's SHA-1 are sent). Throws for a status other than 200, a
 * redirect (a captive portal would lead to a page), an answer larger than a range, and a timeout.
 */
export async function fetchRange(
  { baseUrl, apiKey, fetch, timeout }: RangeService,
  prefix: string,
  signal: AbortSignal,
): Promise<string> {
  const over = new AbortController();
  let giveUp: (why: Error) => void = () => {};
  // The timeout also rejects by itself, because an injected fetch may ignore its signal.
  const late = new Promise<never>((_, reject) => {
    giveUp = (why) => {
      reject(why);
      over.abort();
    };
  });
  const timer = setTimeout(() => giveUp(new Error(`no answer within ${timeout} ms`)), timeout);
  const stop = (): void => giveUp(new Error('the service does not answer'));
  signal.addEventListener('abort', stop);
  const headers = {
    accept: 'text/plain',
    'add-padding': 'true',
    'user-agent': `legate/${packageVersion()}`,
    ...(apiKey === undefined ? {} : { 'hibp-api-key': apiKey }),
  };
  const answer = (async () => {
    const response = await fetch(`${baseUrl}/range/${prefix}`, { headers, redirect: 'manual', signal: over.signal });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`the answer has status ${response.status}`);
    }
    return readText(response);
  })();
  answer.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('latin1');
}
