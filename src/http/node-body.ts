import type { ServerResponse } from 'node:http';

type Write = (to: ServerResponse) => void;

const direct = new WeakMap<ReadableStream<Uint8Array>, Write>();

/** Says that a body can write itself to node:http: thousands of open ones then do without a stream in between each. */
export function offerDirect(body: ReadableStream<Uint8Array>, write: Write): void {
  direct.set(body, write);
}

/** Takes what was offered: from then on the body itself must not be read. */
export function directOf(body: ReadableStream<Uint8Array> | null): Write | undefined {
  return body === null ? undefined : direct.get(body);
}
