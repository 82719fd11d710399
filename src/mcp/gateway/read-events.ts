import { StringDecoder } from 'node:string_decoder';
import { isObject, type Message } from '../guard/json-rpc.ts';
import { OutcomeUnknown } from './peer.ts';
import type { ServerAnswer } from './server-answer.ts';

interface ServerEvent {
  /** Absent for a JSON body. */
  readonly name: string | undefined;
  readonly data: string;
  readonly id?: string | undefined;
  readonly retry?: string | undefined;
  readonly chars: number;
}

/** Characters without a message, such as comments and empty lines, that a server may send in a row during a request. */
const MAX_EMPTY_CHARS = 1_000_000;

/** Where a stream can be resumed, and after which pause. Updated with each event. */
export interface Position {
  lastEventId?: string;
  retryMs?: number;
  /** Characters without a message since the last one. Absent: a stream without an end, which is not limited. */
  emptyChars?: number;
}

/** The connection of a stream broke before its end. */
export class StreamBroke extends OutcomeUnknown {}

/**
 * Reads the events of a stream (HTML, section 9.2.6), or a JSON body as one event, until `take` returns true. Returns
 * whether it did. Throws {@link OutcomeUnknown}.
 */
export function readEvents(
  answer: ServerAnswer,
  maxChars: number,
  take: (event: ServerEvent) => boolean,
): Promise<boolean> {
  const isStream = answer.isOf('text/event-stream');
  return new Promise((resolve, reject) => {
    let isDone = false;
    /** The body, if all of it has arrived at once. */
    let whole: Buffer | undefined;
    let decoder: StringDecoder | undefined;
    /** What has arrived of the next event. */
    let pieces: string[] = [];
    let size = 0;
    /** The last characters of `pieces`, with which an empty line may begin. */
    let tail = '';
    const done = (isTaken: boolean): void => {
      isDone = true;
      resolve(isTaken);
    };
    const fail = (error: OutcomeUnknown): void => {
      if (isDone) return;
      isDone = true;
      reject(error);
    };
    const receive = (piece: string, isEnd: boolean): boolean => {
      pieces.push(piece);
      size += piece.length;
      if (size > maxChars) {
        fail(new OutcomeUnknown('its answer is too long'));
        answer.close();
        return false;
      }
      if (!isStream) return isEnd && take({ name: undefined, data: pieces.join(''), chars: size });
      // All pieces are joined once per event, not for each piece: a server may send very small ones.
      const latest = tail + piece;
      tail = latest.slice(-2);
      if (!/\n\r?\n/.test(latest)) return false;
      const parts = pieces.join('').split(/\r?\n\r?\n/);
      const rest = parts.pop() as string;
      pieces = [rest];
      size = rest.length;
      return parts.some((event) => take(eventOf(event)));
    };
    const decoded = (chunk: Buffer): string => {
      decoder ??= new StringDecoder('utf8');
      const before = whole ? decoder.write(whole) : '';
      whole = undefined;
      return before + decoder.write(chunk);
    };
    answer.read({
      data: (chunk) => {
        if (isDone) return;
        if (!isStream && !decoder && !whole) whole = chunk;
        else if (receive(decoded(chunk), false)) {
          answer.discard();
          done(true);
        }
      },
      end: () => {
        if (!isDone) done(receive(whole ? whole.toString('utf8') : (decoder?.end() ?? ''), true));
      },
      broke: () => fail(new StreamBroke('the connection broke')),
    });
  });
}

function eventOf(event: string): ServerEvent {
  const data: string[] = [];
  let name: string | undefined;
  let id: string | undefined;
  let retry: string | undefined;
  // A server may send many events of nothing but empty lines or comments.
  for (const line of event === '' ? [] : event.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    const field = line.slice(0, colon);
    if (field === 'data') data.push(value);
    else if (field === 'event') name = value;
    else if (field === 'id') id = value;
    else if (field === 'retry') retry = value;
  }
  // The empty line after an event counts too.
  return { name, data: data.join('\n'), id, retry, chars: event.length + 2 };
}

/** Returns the messages of an event. Anything else that a server sends is ignored. */
export function messagesIn({ data }: Pick<ServerEvent, 'data'>): Message[] {
  if (data === '') return [];
  try {
    const value: unknown = JSON.parse(data);
    return (Array.isArray(value) ? value : [value]).filter(isObject);
  } catch {
    return [];
  }
}

/** Reads messages up to and including the answer. Returns whether it arrived. Throws {@link OutcomeUnknown}. */
export async function readMessages(
  answer: ServerAnswer,
  maxChars: number,
  receive: (message: Message) => void,
  isLast: (message: Message) => boolean,
  position: Position = {},
): Promise<boolean> {
  let isEmpty = false;
  const isTaken = await readEvents(answer, maxChars, (event) => {
    if (event.id !== undefined) position.lastEventId = event.id;
    if (event.retry !== undefined && /^\d{1,9}$/.test(event.retry)) position.retryMs = Number(event.retry);
    const messages = messagesIn(event);
    if (position.emptyChars !== undefined)
      position.emptyChars = messages.length > 0 ? 0 : position.emptyChars + event.chars;
    for (const message of messages) {
      const last = isLast(message);
      receive(message);
      if (last) return true;
    }
    isEmpty = (position.emptyChars ?? 0) > MAX_EMPTY_CHARS;
    return isEmpty;
  });
  if (isEmpty) throw new OutcomeUnknown('it sent too much without a message');
  return isTaken;
}
