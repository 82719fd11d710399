/** Cuts the lists of one message to what the caller may use; false: the message stays as it is. */
export type CutLists = (message: unknown) => Promise<boolean>;

/** What an answer passes through on its way to the client, piece by piece. */
export interface AnswerFilter {
  /** Whether what comes out may differ from what went in, so that length and encoding of the answer no longer hold. */
  readonly changes: boolean;
  /** null: the answer ends here. */
  push(chunk: Uint8Array): Promise<string | Uint8Array | null>;
  end(): Promise<string | Uint8Array>;
}

export interface AnswerRules {
  /** undefined: no list can be in this answer, so nothing of it is read. */
  readonly cut: CutLists | undefined;
  /** Told of each message, where the answer may name a task that is made. */
  readonly note: ((message: unknown) => void) | undefined;
  /** Told how to put an event into the stream, where the server may have to say something of its own. */
  readonly attach: ((inject: (event: string) => void) => () => void) | undefined;
  /** Whether the request itself asks for a list. Otherwise one can only come in an event stream that is resumed. */
  readonly asksForList: boolean;
  /** The answer to this request when its lists cannot be cut. */
  readonly failed: (message: string) => string;
  /** Whether the token still holds: a stream ends before its next piece when it does not. */
  readonly alive: () => Promise<boolean>;
}

/** Most of a list, or of one event that may hold one, that is kept in memory. */
export const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** A whole answer follows the check of its token at once; only one that lasts is checked again. */
const CHECK_JSON_AFTER_MS = 1000;
const EMPTY = new Uint8Array();

/** Only an answer that may hold a list is held back until it can be read; every other one passes as it comes. */
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

/** A task is named in a few hundred bytes: what is longer is no such answer. */
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
        // Before the last piece is passed on: the client may ask for the task at once.
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
    // Not whole yet.
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
      // Without a byte order mark, which clients skip and JSON.parse does not.
      return (await cutText(new TextDecoder().decode(bytes), cut)) ?? bytes;
    },
  };
}

/** An event is passed on once it is whole (HTML, section 9.2.6: lines end with CR LF, LF or CR). */
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
    // An event without its end is never dispatched by a client.
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

/** The text of a message or a batch with its lists cut; undefined: there is nothing to cut. */
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
