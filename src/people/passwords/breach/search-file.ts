import { type FileHandle, open } from 'node:fs/promises';

/** Longer than any `SHA1:count` line. */
const LINE_BYTES = 128;
const LINE = /^([0-9a-f]{40}):(\d{1,15})$/i;

/**
 * Returns the count of a hash (40 hex digits, upper case) in a file of `SHA1:count` lines sorted by hash. A binary
 * search: about 36 small reads in a file of 40 GB, nothing kept in memory. Opens the file for each search, so that it
 * can be replaced while the service runs. Throws if the file cannot be read or has other lines.
 */
export async function searchFile(path: string, hash: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    // The wanted line, if present, begins at or after `low` and before `high`; `low` is the start of a line.
    let low = 0;
    let high = (await file.stat()).size;
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2);
      const line = (await lineAfter(file, low, middle, high)) ?? (await readLine(file, low));
      if (line.text === '') {
        // Empty lines occur only at the end.
        high = line.start;
        continue;
      }
      const [, found, count] = LINE.exec(line.text) ?? [];
      if (found === undefined || count === undefined) throw new Error('the file has a line that is not SHA1:count');
      const order = found.toUpperCase();
      if (order === hash) return Number(count);
      if (order < hash) low = line.end;
      else high = line.start;
    }
    return 0;
  } finally {
    await file.close();
  }
}

interface Line {
  readonly text: string;
  readonly start: number;
  /** Where the next line begins. */
  readonly end: number;
}

async function readLine(file: FileHandle, start: number): Promise<Line> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(LINE_BYTES), 0, LINE_BYTES, start);
  const bytes = buffer.subarray(0, bytesRead);
  const newline = bytes.indexOf(0x0a);
  if (newline === -1 && bytesRead === LINE_BYTES) throw new Error('the file has a line that is not SHA1:count');
  const length = newline === -1 ? bytesRead : newline;
  return {
    text: bytes.toString('latin1', 0, length).trim(),
    start,
    end: start + (newline === -1 ? bytesRead : newline + 1),
  };
}

/** Returns the first line that begins after `middle` and before `high`, if any. */
async function lineAfter(file: FileHandle, low: number, middle: number, high: number): Promise<Line | undefined> {
  if (middle === low) return undefined;
  const { end } = await readLine(file, middle);
  return end < high ? readLine(file, end) : undefined;
}
