import { originOfResource, pathOfResource } from '../../kernel/protocol/protected-resource.ts';

const TIMEOUT_MS = 5000;
const WARN_AGAIN_MS = 60_000;
const MAX_WARNED = 100;
const MAX_STATED = 300;

export interface IssuerMetadata {
  readonly issuer: string;
  readonly jwks_uri?: string;
  readonly introspection_endpoint?: string;
}

/** The token cannot be verified now. The guard answers 503 instead of refusing a token that may be valid. */
export class VerifierUnavailable extends Error {
  /** Status of the answer, if there was one. */
  readonly status?: number | undefined;
  constructor(message: string, options?: ErrorOptions & { readonly status?: number | undefined }) {
    super(message, options);
    this.status = options?.status;
  }
}

/** Fetches JSON from the authorization server, with a time limit and without redirects. */
export async function fetchJson(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit = {},
): Promise<Record<string, unknown>> {
  let status: number | undefined;
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { accept: 'application/json', ...init.headers },
    });
    status = response.status;
    if (status !== 200) throw new Error(`it answered ${status}${await stated(response)}`);
    return (await response.json()) as Record<string, unknown>;
  } catch (error) {
    throw new VerifierUnavailable(`${url} cannot be asked: ${innermost(error)}`, { cause: error, status });
  }
}

/** Returns the code and the text of an error in the format of the API or of OAuth, or ''. */
async function stated(response: Response): Promise<string> {
  const body = (await response.json().catch(() => null)) as Record<string, unknown> | null;
  const error = body?.['error'] as Record<string, unknown> | string | undefined;
  const said = typeof error === 'string' ? [error, body?.['error_description']] : [error?.['code'], error?.['message']];
  const texts = said.filter((text) => typeof text === 'string');
  return texts.length === 0 ? '' : `, ${texts.join(': ').slice(0, MAX_STATED)}`;
}

/** "fetch failed" has its cause inside. */
export const innermost = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error
    ? innermost(error.cause)
    : String((error as Error).message || (error as { code?: unknown }).code);

const warnedAt = new Map<string, number>();

/**
 * Emits a warning of the process if the authorization server cannot be asked, because the answer to the caller does not
 * contain the cause. Each cause is named once a minute.
 */
export async function warning<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof VerifierUnavailable) warn(`protectMcp: ${error.message}`);
    throw error;
  }
}

function warn(text: string): void {
  const now = performance.now();
  if (now - (warnedAt.get(text) ?? Number.NEGATIVE_INFINITY) < WARN_AGAIN_MS) return;
  if (warnedAt.size >= MAX_WARNED) warnedAt.clear();
  warnedAt.set(text, now);
  process.emitWarning(text, 'LegateWarning');
}

/** Fetches the metadata of RFC 8414, section 3, once. Its issuer must match byte for byte. Failures are retried. */
export function issuerMetadata(fetch: typeof globalThis.fetch, issuer: string): () => Promise<IssuerMetadata> {
  let known: Promise<IssuerMetadata> | undefined;
  return () => {
    known ??= fetchJson(
      fetch,
      `${originOfResource(issuer)}/.well-known/oauth-authorization-server${pathOfResource(issuer)}`,
    ).then((metadata) => {
      if (metadata['issuer'] !== issuer)
        throw new VerifierUnavailable(`The metadata of ${issuer} has the issuer ${String(metadata['issuer'])}.`);
      return metadata as unknown as IssuerMetadata;
    });
    known.catch(() => {
      known = undefined;
    });
    return known;
  };
}
