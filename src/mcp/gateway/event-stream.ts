const KEEP_ALIVE_MS = 25_000;
/** Bytes that may wait for a slow reader. The next message ends the stream. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** An answer as Server-Sent Events. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #onEnd: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #keepAlive: NodeJS.Timeout;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#ended(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING_BYTES }),
    );
    this.#keepAlive = setInterval(() => this.write(': \n\n'), KEEP_ALIVE_MS).unref();
  }

  send(message: unknown): void {
    this.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  write(event: string): void {
    if (!this.#controller) return;
    if ((this.#controller.desiredSize ?? 0) > 0) this.#controller.enqueue(this.#encoder.encode(event));
    else this.end();
  }

  end(): void {
    const controller = this.#controller;
    if (!controller) return;
    this.#ended();
    controller.close();
  }

  #ended(): void {
    this.#controller = undefined;
    clearInterval(this.#keepAlive);
    this.#onEnd();
  }
}
