import { OutcomeUnknown, ServerUnavailable } from './peer.ts';
import type { GatewayServer } from './servers-file.ts';

/** Errors of a connection on which nothing was sent yet. */
const NOT_SENT = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
]);

/** Returns the token to send; after a refusal, another one than the refused. Throws {@link ServerUnavailable}. */
export type Bearer = (refused?: string) => Promise<string>;

interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly message?: unknown;
  readonly signal: AbortSignal;
}

/**
 * Returns how requests are sent to a server: with its configured headers and, if given, the token of a person.
 * Redirects are not followed, since headers may have secrets. Throws {@link ServerUnavailable} and {@link
 * OutcomeUnknown}.
 */
export const senderTo =
  ({ headers: configured }: GatewayServer, bearer?: Bearer) =>
  async (sent: Sent): Promise<Response> => {
    const once = async (token: string | undefined): Promise<Response> => {
      const headers = new Headers(configured);
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
      for (const [name, value] of Object.entries(sent.headers)) headers.set(name, value);
      if (sent.message) headers.set('content-type', 'application/json');
      const body = sent.message ? JSON.stringify(sent.message) : null;
      try {
        return await fetch(sent.url, { method: sent.method, headers, body, signal: sent.signal, redirect: 'manual' });
      } catch (error) {
        const { code } = ((error as Error).cause ?? {}) as { code?: string };
        if (code !== undefined && NOT_SENT.has(code)) throw new ServerUnavailable(`it cannot be reached: ${code}`);
        throw new OutcomeUnknown('the connection broke');
      }
    };
    const token = await bearer?.();
    const response = await once(token);
    if (!bearer || response.status !== 401) return response;
    // A request that was refused for its token did not run.
    await response.body?.cancel();
    return once(await bearer(token));
  };

export type Send = ReturnType<typeof senderTo>;

/**
 * The HTTP requests of one connection that are in progress. Each has a signal of its own: with one for all, every
 * request would leave a listener on it until the garbage collector runs.
 */
export class OpenRequests {
  readonly #open = new Set<AbortController>();
  #ended = false;

  async during<T>(work: (own: AbortController) => Promise<T>): Promise<T> {
    const own = new AbortController();
    if (this.#ended) own.abort();
    this.#open.add(own);
    try {
      return await work(own);
    } finally {
      this.#open.delete(own);
    }
  }

  end(): void {
    this.#ended = true;
    for (const own of this.#open) own.abort();
  }
}

/** Throws the failure that a status stands for. */
export async function failWith(response: Response): Promise<never> {
  if (!response.bodyUsed) await response.body?.cancel();
  const message = `it answered with status ${response.status}`;
  throw response.status < 500 ? new ServerUnavailable(message) : new OutcomeUnknown(message);
}
