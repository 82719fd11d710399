import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createUnzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { OutcomeUnknown, ServerUnavailable } from './peer.ts';

/** Time that a server has to end an answer after all of it was sent. */
const END_MS = 200;
/** Informational responses to one request, such as 102 (RFC 2518, section 10.1). */
const MAX_INFORMATIONAL = 1000;
const CONTENT_CODING = 'content-encoding';

/** Receives the body of an answer. At most one of `end` and `broke` is called, last. */
export interface BodyReader {
  readonly data: (chunk: Buffer) => void;
  readonly end: () => void;
  readonly broke: () => void;
}

interface Waiting {
  /** The head of the answer has arrived. */
  readonly answered: (answer: ServerAnswer) => void;
  /** No answer arrives. */
  readonly failed: (error: Error) => void;
  /** The connection is no longer needed. */
  readonly finished: () => void;
}

/** The answer of a server to one request. The body must be read or discarded. */
export class ServerAnswer implements Dispatcher.DispatchHandler {
  readonly #waiting: Waiting;
  #status = 0;
  #informational = 0;
  #headers: Readonly<Record<string, string | string[] | undefined>> = {};
  #controller: Dispatcher.DispatchController | undefined;
  #isClosed = false;
  #hasEnded = false;
  #isBroken = false;
  #reader: BodyReader | undefined;
  #decoder: Transform | undefined;
  /** Parts of the body that arrived before the reader. */
  #unread: Buffer[] = [];

  constructor(waiting: Waiting) {
    this.#waiting = waiting;
  }

  get status(): number {
    return this.#status;
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }

  /** The value of a header, whose name is in lower case. */
  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  isOf(type: string): boolean {
    return this.header('content-type')?.startsWith(type) ?? false;
  }

  /** Passes the body on, decoded (RFC 9110, section 8.4). Each part is passed on when it arrives. */
  read(reader: BodyReader): void {
    this.#receive(this.header(CONTENT_CODING) === undefined ? reader : this.#decoded(reader));
  }

  /**
   * Waits for the end of the answer, so that the connection can be used again, and closes the connection if more data
   * comes.
   */
  discard(): void {
    this.#decoder?.destroy();
    if (this.#hasEnded || this.#isBroken) return;
    const timer = setTimeout(() => this.close(), END_MS).unref();
    const done = (): void => clearTimeout(timer);
    this.#receive({ data: () => this.close(), end: done, broke: done });
  }

  /** Ends the request, with its connection. A request that waits for a connection is not sent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#controller) this.#controller.abort(new Error('the request was ended'));
    else this.#break();
  }

  /** A request that was sent once is never sent again. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const isRepeated = this.#controller !== undefined;
    this.#controller = controller;
    if (this.#isClosed || isRepeated) controller.abort(new Error('the request was ended'));
  }

  onResponseStart(_: unknown, status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    // The answer follows after those below 200.
    if (status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) this.close();
      return;
    }
    this.#status = status;
    this.#headers = headers;
    this.#waiting.answered(this);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#reader) this.#reader.data(chunk);
    else this.#unread.push(chunk);
  }

  onResponseEnd(): void {
    this.#hasEnded = true;
    this.#waiting.finished();
    this.#reader?.end();
  }

  onResponseError(_: unknown, error: NodeJS.ErrnoException): void {
    if (this.#hasEnded) return;
    this.#waiting.finished();
    this.#break(error.code);
  }

  #break(code = 'no connection'): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    if (this.#status > 0) this.#reader?.broke();
    else if (this.#controller) this.#waiting.failed(new OutcomeUnknown('the connection broke'));
    else this.#waiting.failed(new ServerUnavailable(`it cannot be reached: ${code}`));
  }

  #receive(reader: BodyReader): void {
    this.#reader = reader;
    for (const chunk of this.#unread.splice(0)) this.#reader.data(chunk);
    if (this.#hasEnded) this.#reader.end();
    else if (this.#isBroken) this.#reader.broke();
  }

  #decoded(reader: BodyReader): BodyReader {
    const coding = this.header(CONTENT_CODING);
    if (coding === 'identity') return reader;
    // Without a flush, an event of a stream would wait for the next one.
    const decoder: Transform =
      coding === 'br'
        ? createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })
        : createUnzip({ flush: constants.Z_SYNC_FLUSH });
    this.#decoder = decoder;
    decoder.on('data', reader.data).once('end', reader.end).on('error', reader.broke);
    return {
      data: (chunk) => {
        if (decoder.write(chunk)) return;
        this.#controller?.pause();
        decoder.once('drain', () => this.#controller?.resume());
      },
      end: () => decoder.end(),
      broke: () => decoder.destroy(new Error('the connection broke')),
    };
  }
}
