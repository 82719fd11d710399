import { originOfResource, pathOfResource } from '../../kernel/protocol/protected-resource.ts';

const TIMEOUT_MS = 5000;

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
    if (status !== 200) throw new Error(`${url} answered ${status}`);
    return (await response.json()) as Record<string, unknown>;
  } catch (error) {
    throw new VerifierUnavailable(`${url} cannot be asked`, { cause: error, status });
  }
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
