/** Options of one request. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt. */
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The ETag that was read, or the object itself as the client returned it. 412 if it has changed since. */
  readonly ifMatch?: string | object | undefined;
  /** By default the client creates a new key for each POST. */
  readonly idempotencyKey?: string | undefined;
  /** Chosen by the client by default. */
  readonly requestId?: string | undefined;
}
