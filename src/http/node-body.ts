import type { ServerResponse } from 'node:http';

type Write = (to: ServerResponse) => void;

const direct = new WeakMap<ReadableStream<Uint8Array>, Write>();

/**
 * Registers a function that writes a body directly to node:http, to save a web stream for each of thousands of open
 * ones.
 */
export function offerDirect(body: ReadableStream<Uint8Array>, write: Write): void {
  direct.set(body, write);
}

/** Returns the registered function. The body itself must not be read afterwards. */
export function directOf(body: ReadableStream<Uint8Array> | null): Write | undefined {
  return body === null ? undefined : direct.get(body);
}
