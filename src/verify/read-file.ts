import { closeSync, openSync, readSync } from 'node:fs';
import { Refuted, Undecidable, utf8 } from './canonical.ts';

/** A larger file is not a proof or a checkpoint. */
export const MAX_BYTES = 16 * 1024 * 1024;
const CHUNK = 1024 * 1024;
const NEWLINE = 10;

/** Yields the bytes of a file or a pipe, once. A chunk is valid until the next one. Throws {@link Undecidable}. */
export function* chunksOf(path: string): Generator<Buffer, undefined> {
  const unreadable = (error: unknown): never => {
    throw new Undecidable(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  };
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    return unreadable(error);
  }
  try {
    const chunk = Buffer.alloc(CHUNK);
    for (;;) {
      let n = 0;
      try {
        n = readSync(file, chunk);
      } catch (error) {
        unreadable(error);
      }
      if (n === 0) return undefined;
      yield chunk.subarray(0, n);
    }
  } finally {
    closeSync(file);
  }
}

/** Takes chunks until they have this many bytes, or all. */
export function take(chunks: Generator<Buffer, undefined>, bytes: number): Buffer {
  const taken: Buffer[] = [];
  for (let length = 0; length < bytes; ) {
    const chunk = chunks.next().value;
    if (!chunk) break;
    taken.push(Buffer.from(chunk));
    length += chunk.length;
  }
  return Buffer.concat(taken);
}

/** The text of a whole file. Throws {@link Undecidable}, and {@link Refuted} if it is not UTF-8. */
export function read(path: string): string {
  const chunks = chunksOf(path);
  try {
    return textOf(path, take(chunks, MAX_BYTES + 1));
  } finally {
    chunks.return(undefined);
  }
}

/** The bytes of a file as text, with the errors of {@link read}. */
export function textOf(path: string, bytes: Buffer): string {
  if (bytes.length > MAX_BYTES) throw new Undecidable(`${path} is larger than ${MAX_BYTES} bytes.`);
  return utf8(bytes);
}

/** Yields the lines of a file in constant memory. Throws {@link Refuted} if the last one has no end. */
export function* linesOf(path: string, start: Buffer, chunks: Iterable<Buffer>): Generator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for (const chunk of after(start, chunks)) {
    const bytes = Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    rest = bytes.subarray(end);
    if (rest.length > MAX_BYTES) throw new Undecidable(`A line of ${path} is longer than ${MAX_BYTES} bytes.`);
    if (end > 0) yield* utf8(bytes.subarray(0, end - 1)).split('\n');
  }
  if (rest.length > 0) throw new Refuted('The file has been cut: its last line has no end.');
}

function* after(start: Buffer, chunks: Iterable<Buffer>): Generator<Buffer> {
  yield start;
  yield* chunks;
}
