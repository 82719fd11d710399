import { isObject, type Message } from '../guard/json-rpc.ts';
import { OutcomeUnknown } from './peer.ts';

interface ServerEvent {
  /** Absent for a JSON body. */
  readonly name: string | undefined;
  readonly data: string;
}

/**
 * Reads the events of a stream (HTML, section 9.2.6), or a JSON body as one event, until `take` returns true. Returns
 * whether it did. Throws {@link OutcomeUnknown}.
 */
export async function readEvents(
  response: Response,
  maxChars: number,
  take: (event: ServerEvent) => boolean,
): Promise<boolean> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = (await reader?.read().catch(() => {
      throw new OutcomeUnknown('the connection broke');
    })) ?? { done: true, value: undefined };
    text += decoder.decode(value, { stream: !done });
    if (text.length > maxChars) {
      await reader?.cancel();
      throw new OutcomeUnknown('its answer is too long');
    }
    const parts = isStream ? text.split(/\r?\n\r?\n/) : [text];
    if (isStream) text = parts.pop() as string;
    for (const event of isStream ? parts.map(eventOf) : done ? [{ name: undefined, data: text }] : []) {
      if (!take(event)) continue;
      if (!done) await reader?.cancel();
      return true;
    }
    if (done) return false;
  }
}

function eventOf(event: string): ServerEvent {
  const lines = event.split(/\r?\n/);
  const field = (name: string): string[] =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ''));
  return { name: field('event').at(-1), data: field('data').join('\n') };
}

/** Returns the messages of an event. Whatever else a server sends is ignored. */
export function messagesIn({ data }: ServerEvent): Message[] {
  try {
    const value: unknown = JSON.parse(data);
    return (Array.isArray(value) ? value : [value]).filter(isObject);
  } catch {
    return [];
  }
}

/** Reads messages up to and including the last one. Returns whether it came. */
export const readMessages = (
  response: Response,
  maxChars: number,
  receive: (message: Message) => void,
  isLast: (message: Message) => boolean,
): Promise<boolean> =>
  readEvents(response, maxChars, (event) => {
    for (const message of messagesIn(event)) {
      const last = isLast(message);
      receive(message);
      if (last) return true;
    }
    return false;
  });
