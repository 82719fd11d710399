import type { Question } from './asks.ts';

/** Filters the lists of one message. Returns false if the message is unchanged. */
export type CutLists = (message: unknown) => Promise<boolean>;

/** Filters an answer on its way to the client, chunk by chunk. */
export interface AnswerFilter {
  /** Whether the output may differ from the input, so that length and encoding of the answer are no longer valid. */
  readonly changes: boolean;
  /** Returns the chunk to send, or null to end the answer. */
  push(chunk: Uint8Array): Promise<string | Uint8Array | null>;
  end(): Promise<string | Uint8Array>;
}

export interface AnswerRules {
  /** undefined: this answer cannot contain a list and is not read. */
  readonly cut: CutLists | undefined;
  /** Called with each message if the answer may name a new task. */
  readonly note: ((message: unknown) => void) | undefined;
  /** Called with a function that inserts an event into the stream, if the guard may have to send notifications. */
  readonly attach: ((inject: (event: string) => void) => () => void) | undefined;
  /** Whether the request asks for a list. Otherwise lists can only be in a resumed event stream. */
  readonly asksForList: boolean;
  /** The answer to this request if its lists cannot be filtered. */
  readonly failed: (message: string) => string;
  /** Returns which questions could be allowed now, by dry runs. undefined: decisions are switched off. */
  readonly permitted?: ((questions: readonly Question[]) => Promise<boolean[]>) | undefined;
  /** Whether the token is still valid. If not, a stream ends before its next chunk. */
  readonly alive: () => Promise<boolean>;
}

/** Maximum size of a list, or of an event that may contain one. */
export const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** After this time, the token of a JSON answer is checked again. */
const CHECK_JSON_AFTER_MS = 1000;
const EMPTY = new Uint8Array();

/** Buffers only answers that may contain a list, until they can be read. All others are passed on as they arrive. */
export function answerFilter(
  contentType: string | null | undefined,
  contentEncoding: string | null | undefined,
  { cut, note, asksForList, failed, alive }: AnswerRules,
): AnswerFilter {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  const isStream = type === 'text/event-stream';
  if (note && !asksForList) return isStream ? notingEvents(note, alive) : notingAll(note, alive);
  if (!cut || !(isStream || asksForList)) return passing(alive, isStream ? 0 : CHECK_JSON_AFTER_MS);
  const encoded = contentEncoding !== null && contentEncoding !== undefined && contentEncoding !== 'identity';
  if (encoded) return unreadable(failed('The server compressed a list, so it cannot be cut for this caller.'));
  const read: CutLists = (message) => {
    note?.(message);
    return cut(message);
  };
  return isStream ? holdingEvents(read, alive) : holdingAll(read, failed);
}

function passing(alive: () => Promise<boolean>, after: number): AnswerFilter {
  const begun = performance.now();
  return {
    changes: false,
    push: async (chunk) => (performance.now() - begun < after || (await alive()) ? chunk : null),
    end: async () => EMPTY,
  };
}

/** An answer that names a task has a few hundred bytes; longer ones are not examined. */
const MAX_NOTED_BYTES = 64 * 1024;

function notingAll(note: (message: unknown) => void, alive: () => Promise<boolean>): AnswerFilter {
  const { push, end } = passing(alive, CHECK_JSON_AFTER_MS);
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    changes: false,
    push: async (chunk) => {
      size += chunk.byteLength;
      if (size <= MAX_NOTED_BYTES) {
        chunks.push(chunk);
        const text = Buffer.concat(chunks).toString('utf8');
        // Before the last chunk is sent, because the client may ask for the task immediately.
        if (/[}\]]\s*$/.test(text)) noteText(text, note);
      }
      return push(chunk);
    },
    end,
  };
}

function notingEvents(note: (message: unknown) => void, alive: () => Promise<boolean>): AnswerFilter {
  const { push, end } = passing(alive, 0);
  const decoder = new TextDecoder();
  let line = '';
  return {
    changes: false,
    push: async (chunk) => {
      const lines = (line + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r/);
      for (const data of lines) if (data.startsWith('data:')) noteText(data.slice(5), note);
      line = (lines.at(-1) ?? '').slice(0, MAX_NOTED_BYTES);
      return push(chunk);
    },
    end,
  };
}

function noteText(text: string, note: (message: unknown) => void): void {
  try {
    const body: unknown = JSON.parse(text);
    for (const message of Array.isArray(body) ? body : [body]) note(message);
  } catch {
    // Incomplete.
  }
}

function unreadable(answer: string): AnswerFilter {
  return { changes: true, push: async () => EMPTY, end: async () => answer };
}

function holdingAll(cut: CutLists, failed: AnswerRules['failed']): AnswerFilter {
  let chunks: Uint8Array[] = [];
  let size = 0;
  return {
    changes: true,
    push: async (chunk) => {
      size += chunk.byteLength;
      if (size <= MAX_HELD_BYTES) chunks.push(chunk);
      else chunks = [];
      return EMPTY;
    },
    end: async () => {
      if (size > MAX_HELD_BYTES) return failed('The list of the server is too large to be cut for this caller.');
      const bytes = Buffer.concat(chunks);
      // Removes the byte order mark, which clients skip and JSON.parse does not.
      return (await cutText(new TextDecoder().decode(bytes), cut)) ?? bytes;
    },
  };
}

/** Events are passed on when they are complete (HTML, section 9.2.6: lines end with CR LF, LF or CR). */
const END_OF_EVENT = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/g;
const LONGEST_END = 4;

function holdingEvents(cut: CutLists, alive: () => Promise<boolean>): AnswerFilter {
  const decoder = new TextDecoder();
  let rest = '';
  return {
    changes: true,
    push: async (chunk) => {
      END_OF_EVENT.lastIndex = Math.max(0, rest.length - LONGEST_END);
      rest += decoder.decode(chunk, { stream: true });
      let out = '';
      let from = END_OF_EVENT.lastIndex;
      for (;;) {
        END_OF_EVENT.lastIndex = from;
        const end = END_OF_EVENT.exec(rest);
        if (!end) return rest.length > MAX_HELD_BYTES ? null : out;
        if (!(await alive())) return null;
        const event = rest.slice(0, end.index + end[0].length);
        rest = rest.slice(event.length);
        from = 0;
        out += await cutEvent(event, cut);
      }
    },
    // Clients never dispatch an incomplete event.
    end: async () => rest + decoder.decode(),
  };
}

async function cutEvent(event: string, cut: CutLists): Promise<string> {
  const lines = event.split(/\r\n|\n|\r/);
  const data = lines
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
    .join('\n');
  const changed = data === '' ? undefined : await cutText(data, cut);
  if (changed === undefined) return event;
  const others = lines.filter((line) => line !== '' && !line.startsWith('data:'));
  return `${[...others, `data: ${changed}`].join('\n')}\n\n`;
}

/** Returns the text of a message or batch with filtered lists, or undefined if nothing changes. */
async function cutText(text: string, cut: CutLists): Promise<string | undefined> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  let changed = false;
  for (const message of Array.isArray(body) ? body : [body]) if (await cut(message)) changed = true;
  return changed ? JSON.stringify(body) : undefined;
}
