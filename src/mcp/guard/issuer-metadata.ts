import { originOfResource, pathOfResource } from '../../kernel/protocol/protected-resource.ts';

const TIMEOUT_MS = 5000;

export interface IssuerMetadata {
  readonly issuer: string;
  readonly jwks_uri?: string;
  readonly introspection_endpoint?: string;
}

/** The answer is not to be had: the guard answers 503 rather than calling a good token bad. */
export class VerifierUnavailable extends Error {}

/** JSON of an address of the authorization server. No redirects, and a time limit. */
export async function fetchJson(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit = {},
): Promise<Record<string, unknown>> {
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { accept: 'application/json', ...init.headers },
    });
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  } catch (error) {
    throw new VerifierUnavailable(`${url} cannot be asked`, { cause: error });
  }
}

/** RFC 8414, section 3, fetched once; the issuer in it must be the one asked for, byte for byte. A failure is tried again. */
export function issuerMetadata(fetch: typeof globalThis.fetch, issuer: string): () => Promise<IssuerMetadata> {
  let known: Promise<IssuerMetadata> | undefined;
  return () => {
    known ??= fetchJson(
      fetch,
      `${originOfResource(issuer)}/.well-known/oauth-authorization-server${pathOfResource(issuer)}`,
    ).then((metadata) => {
      if (metadata['issuer'] !== issuer)
        throw new VerifierUnavailable(`The metadata of ${issuer} says that it is of ${String(metadata['issuer'])}.`);
      return metadata as unknown as IssuerMetadata;
    });
    known.catch(() => {
      known = undefined;
    });
    return known;
  };
}
